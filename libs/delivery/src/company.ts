/** How a machine's call went: well; badly or slowly in company; badly alone; or in a way that says nothing of it. */
export type Conduct = 'fine' | 'suspect' | 'at-fault' | 'untold';

/** A machine that is not suspected shares a call with as many as a call may have. */
export const ANY_COMPANY = Infinity;
/** Few rounds until the machine at fault is alone: in each, those that share its call wait with it. */
const SHARE = 8;

/**
 * How many machines may share the next call with one, itself included.
 *
 * @param allowed how many could share the last one
 * @param had how many did
 */
export function companyAfter(allowed: number, had: number, conduct: Conduct): number {
  switch (conduct) {
    case 'fine':
      return ANY_COMPANY;
    case 'suspect':
      return Math.max(1, Math.floor(had / SHARE));
    case 'at-fault':
      return 1;
    case 'untold':
      return allowed;
    default:
      return conduct satisfies never;
  }
}
