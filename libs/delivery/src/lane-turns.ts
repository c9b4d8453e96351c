import { DueQueue } from './due-queue.js';
import { type Lane } from './lane.js';

/**
 * Which lanes may send, in the order of their turns, and which may later. Only lanes with an entry that waits and
 * none under way are of interest. Pure: times are handed in.
 */
export class LaneTurns<T> {
  private readonly ready = new Set<Lane<T>>();
  /** Lanes that may not send yet; an entry is outdated when its lane's time has changed since. */
  private readonly blocked = new DueQueue<Lane<T>>();

  /** When the next blocked lane may send; undefined when none is blocked. */
  get nextDueMs(): number | undefined {
    return this.blocked.earliestMs;
  }

  /** Those that may send at `nowMs`, the one whose turn it is first. */
  readyAt(nowMs: number): ReadonlySet<Lane<T>> {
    for (let due = this.blocked.earliestMs; due !== undefined && due <= nowMs;) {
      const lane = this.blocked.take();
      due = this.blocked.earliestMs;
      if (lane === undefined || lane.inFlight || lane.size === 0) continue;
      if (lane.notBeforeMs <= nowMs) this.ready.add(lane);
    }
    return this.ready;
  }

  /** Behind all others, from its time on. */
  place(lane: Lane<T>): void {
    if (lane.inFlight) return;
    if (lane.notBeforeMs > 0) this.blocked.add(lane.notBeforeMs, lane);
    else this.ready.add(lane);
  }

  delete(lane: Lane<T>): void {
    this.ready.delete(lane);
  }

  /** Those that have failed go behind the others. */
  putFailedLast(): void {
    for (const lane of [...this.ready].filter(({ hasFailed }) => hasFailed)) {
      this.ready.delete(lane);
      this.ready.add(lane);
    }
  }
}
