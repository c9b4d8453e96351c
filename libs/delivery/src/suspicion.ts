/** How a machine's call went: well; badly or slowly in company; badly alone; or in a way that says nothing of it. */
export type Conduct = 'fine' | 'suspect' | 'at-fault' | 'untold';

/** Any company divided so often leaves one. */
const ALONE = 16;
/** Few rounds until the machine at fault is alone: in each, those that share its call wait with it. */
const SHARE = 8;

/** How many machines may share a call with one of that suspicion, itself included. */
export function companyOf(suspicion: number, maxMachines: number): number {
  return Math.max(1, Math.floor(maxMachines / SHARE ** suspicion));
}

/** How often the company a machine may keep is divided next time. */
export function suspicionAfter(suspicion: number, conduct: Conduct): number {
  switch (conduct) {
    case 'fine':
      return 0;
    case 'suspect':
      return Math.min(ALONE, suspicion + 1);
    case 'at-fault':
      return ALONE;
    case 'untold':
      return suspicion;
    default:
      return conduct satisfies never;
  }
}
