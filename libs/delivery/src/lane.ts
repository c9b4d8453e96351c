/** One machine's entries that wait, oldest first, and what is known of its calls. */
export class Lane<T> {
  /** One entry at a time is out of the lane, on its way to the service. */
  inFlight = false;
  /** Its last call went wrong, or could not be made. */
  hasFailed = false;
  /** Real milliseconds before which nothing of it is sent. */
  notBeforeMs = 0;
  /** How many machines may share a call with it, itself included. */
  company = ANY_COMPANY;
  /** How many shared its last one. */
  private lastCompany = 1;
  private head: T | undefined;
  /** Behind the head. Most lanes never need it: a list that waits is replaced by the next. */
  private others: T[] | undefined;

  constructor(readonly machineId: string) {}

  get size(): number {
    return this.head === undefined ? 0 : 1 + (this.others?.length ?? 0);
  }

  get first(): T | undefined {
    return this.head;
  }

  get last(): T | undefined {
    return this.others?.at(-1) ?? this.head;
  }

  add(entry: T): void {
    if (this.head === undefined) this.head = entry;
    else if (this.others === undefined) this.others = [entry];
    else this.others.push(entry);
  }

  addFirst(entry: T): void {
    const { head } = this;
    this.head = entry;
    if (head === undefined) return;
    if (this.others === undefined) this.others = [head];
    else this.others.unshift(head);
  }

  all(): T[] {
    return this.head === undefined ? [] : [this.head, ...(this.others ?? [])];
  }

  replaceAll([head, ...others]: readonly T[]): void {
    this.head = head;
    this.others = others.length === 0 ? undefined : others;
  }

  removeFirst(): void {
    this.head = this.others?.shift();
  }

  /** Takes out the first, which leaves in a call for so many machines, this one included. */
  sendFirst(company: number): T | undefined {
    const { head } = this;
    this.inFlight = true;
    this.lastCompany = company;
    this.removeFirst();
    return head;
  }

  /** Its call has ended; the next entry goes at `notBeforeMs` at the earliest. */
  callEnded(conduct: Conduct, notBeforeMs: number): void {
    this.inFlight = false;
    this.notBeforeMs = notBeforeMs;
    this.company = companyAfter(this.company, this.lastCompany, conduct);
    // whose call went well, or was refused, need not wait
    if (notBeforeMs > 0) this.hasFailed = true;
    else if (conduct !== 'untold') this.hasFailed = false;
  }

  /** Takes out all of which that is true, and hands them to the second. */
  remove(isMeant: (entry: T) => boolean, onRemoved: (entry: T) => void): void {
    const kept: T[] = [];
    for (const entry of this.all()) {
      if (isMeant(entry)) onRemoved(entry);
      else kept.push(entry);
    }
    this.replaceAll(kept);
  }
}

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
