/**
 * How a machine's call went: well; badly in company; badly alone; in a way that says nothing of it; or so
 * slowly that one of the machines in it may have held up the others.
 */
export type Conduct = 'fine' | 'suspect' | 'at-fault' | 'untold' | SlowCall;

export interface SlowCall {
  /** How many times as long as a usual call it took. */
  readonly slowness: number;
}

/**
 * A machine that is not suspected shares a call with as many as a call may have. A small integer: every lane
 * has one, and Infinity would be an object of its own in each.
 */
export const ANY_COMPANY = 2 ** 30;
/** Few rounds until the machine at fault is alone: in each, those that share its call wait with it. */
const SHARE = 8;
/** How much longer than the slow call, at the most, the calls may take together that its machines make next. */
const EFFORT = 2;

/**
 * How many machines may share the next call with one, itself included.
 *
 * @param allowed how many could share the last one
 * @param had how many did
 */
export function companyAfter(allowed: number, had: number, conduct: Conduct): number {
  if (typeof conduct === 'object') return partOf(had, EFFORT * conduct.slowness);
  switch (conduct) {
    case 'fine':
      return ANY_COMPANY;
    case 'suspect':
      return partOf(had, SHARE);
    case 'at-fault':
      return 1;
    case 'untold':
      return allowed;
    default:
      return conduct satisfies never;
  }
}

function partOf(had: number, parts: number): number {
  return Math.max(1, Math.floor(had / parts));
}
