/** How a call with the list went: well; badly or slowly in company; badly when the list was alone. */
export type Conduct = 'fine' | 'suspect' | 'at-fault';

/** Halving any company this often leaves one. */
const ALONE = 16;

/** How often the company a machine may keep is halved next time. */
export function suspicionAfter(suspicion: number, conduct: Conduct): number {
  switch (conduct) {
    case 'fine':
      return 0;
    case 'suspect':
      return Math.min(ALONE, suspicion + 1);
    case 'at-fault':
      return ALONE;
    default:
      return conduct satisfies never;
  }
}
