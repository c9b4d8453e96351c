import { type CommandResult, type Forbidden } from '../command-delivery/index.js';
import { type ListWaiter } from './list-waiter.js';

/** A list to set, as the queue keeps it. */
export interface PendingList {
  /** Asked for when it is sent: what it was when the message came may be outdated by then. */
  workingOrders: () => readonly string[];
  /** Epoch seconds, where the sender says it. */
  issuedAt?: number;
  /** Drawn from the ledger: a later one says all that this one does, and applying it applies both. */
  cumulative: boolean;
  forbidden: Forbidden;
  waiters: ListWaiter[];
}

/** What becomes of the lists when `next` comes while `waiting` has not been sent yet. */
export function combine(
  waiting: PendingList,
  next: PendingList,
): { keep: PendingList; superseded: PendingList | undefined } {
  if (waiting.cumulative && next.cumulative) {
    return {
      keep: { ...next, waiters: [...waiting.waiters, ...next.waiters] },
      superseded: undefined,
    };
  }
  if (isOlder(next, waiting.issuedAt)) return { keep: waiting, superseded: next };
  return { keep: next, superseded: waiting };
}

/** Whether a list was issued before another one; without both times the later to come is the newer. */
export function isOlder({ issuedAt }: PendingList, than: number | undefined): boolean {
  return issuedAt !== undefined && than !== undefined && issuedAt < than;
}

/** Bytes of the list in a request, near enough. */
export function sizeOf(machineId: string, workingOrders: readonly string[]): number {
  const FRAME = 48;
  return workingOrders.reduce((sum, order) => sum + order.length + 3, FRAME + machineId.length);
}

/** Tells every waiter, with the calls made on its behalf. */
export function settle(
  { waiters }: PendingList,
  result: (attempts: number) => CommandResult,
): void {
  for (const waiter of waiters) waiter.settle(result);
}

export function supersede(list: PendingList, machineId: string): void {
  const detail = 'a newer list of the machine came before this one was taken';
  settle(list, (attempts) => ({ kind: 'superseded', machineId, attempts, detail }));
}
