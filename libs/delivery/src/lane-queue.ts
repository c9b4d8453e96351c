import { type Conduct } from './company.js';
import { KnownLanes } from './known-lanes.js';
import { type BatchLimits, chooseBatch, type LaneEntry } from './lane-batch.js';
import { type Lane } from './lane.js';
import { LaneTurns } from './lane-turns.js';

/**
 * What waits for the service: a lane a machine, in order, one entry of it under way at a time. Entries
 * of different machines leave together in batches; a machine whose batches go wrong leaves in ever
 * smaller company, until it is alone and no longer costs anybody else. Machines take turns: one that
 * has had its turn goes behind all others that wait. Pure: knows neither time nor the service.
 */
export class LaneQueue<T extends LaneEntry> {
  private readonly lanes = new KnownLanes<T>();
  private readonly turns = new LaneTurns<T>();
  private waitingCount = 0;

  constructor(private readonly limits: BatchLimits) {}

  /** Entries that wait, whether they may be sent now or not; those under way are not among them. */
  get waiting(): number {
    return this.waitingCount;
  }

  /** Machines with an entry waiting or under way. */
  get busyMachines(): number {
    return this.lanes.busy;
  }

  /** Machines whose first entry may be sent at `nowMs`. */
  readyMachines(nowMs: number): number {
    return this.turns.readyAt(nowMs).size;
  }

  /** When the next blocked machine may send; undefined when none is blocked. */
  get nextDueMs(): number | undefined {
    return this.turns.nextDueMs;
  }

  /** The youngest entry of a machine that waits. */
  lastOf(machineId: string): T | undefined {
    return this.lanes.get(machineId)?.last;
  }

  /** All entries of a machine that wait, oldest first. */
  waitingOf(machineId: string): readonly T[] {
    return this.lanes.get(machineId)?.all() ?? [];
  }

  /** Whether that is true of an entry that is first in its lane, with none of its machine under way. */
  someFirst(isMeant: (entry: T) => boolean): boolean {
    return this.lanes
      .all()
      .some(({ first, inFlight }) => first !== undefined && !inFlight && isMeant(first));
  }

  /** Whether an entry of the machine is under way. */
  isInFlight(machineId: string): boolean {
    return this.lanes.get(machineId)?.inFlight === true;
  }

  add(entry: T): void {
    const lane = this.lanes.open(entry.machineId);
    lane.add(entry);
    this.waitingCount += 1;
    if (lane.size === 1) this.turns.place(lane);
  }

  /** Puts the entries, one at least, where all that wait of the machine are now. */
  replaceAll(machineId: string, entries: readonly T[]): void {
    const lane = this.lanes.open(machineId);
    const before = lane.size;
    lane.replaceAll(entries);
    this.waitingCount += lane.size - before;
    if (before === 0) this.turns.place(lane);
  }

  /**
   * The next entries to send in one request, of machines that have none under way; each machine is
   * then in flight until {@link free}. Empty when nothing may be sent.
   *
   * @param calls how many requests are to share what is ready evenly; this is the first of them
   */
  take(nowMs: number, calls = 1): T[] {
    const ready = this.turns.readyAt(nowMs);
    return this.takeOf(ready, Math.ceil(ready.size / calls));
  }

  /**
   * As {@link take}, to see whether anything gets through: of machines whose last call did not go wrong, if there
   * are any. Others may fail for reasons of their own, and be many.
   */
  takeProbe(nowMs: number): T[] {
    const ready = this.turns.readyAt(nowMs);
    const blameless = [...ready].filter(({ hasFailed }) => !hasFailed);
    return this.takeOf(blameless.length > 0 ? blameless : ready, ready.size);
  }

  private takeOf(lanes: Iterable<Lane<T>>, share: number): T[] {
    const chosen = chooseBatch(lanes, this.limits, share);
    const entries: T[] = [];
    for (const lane of chosen) {
      const entry = lane.sendFirst(chosen.length);
      if (entry !== undefined) entries.push(entry);
      this.turns.delete(lane);
    }
    this.waitingCount -= entries.length;
    return entries;
  }

  /**
   * Nothing of the machine is under way any more; the next entry that waits goes at `notBeforeMs` at the
   * earliest. With none waiting that is forgotten.
   */
  free(machineId: string, conduct: Conduct, notBeforeMs = 0): void {
    const lane = this.lanes.open(machineId);
    lane.callEnded(conduct, notBeforeMs);
    this.placeOrForget(lane);
  }

  /** As {@link free}, with the entry that was under way back at the head of its lane. */
  putBack(entry: T, conduct: Conduct, notBeforeMs: number): void {
    const lane = this.lanes.open(entry.machineId);
    lane.addFirst(entry);
    this.waitingCount += 1;
    this.free(entry.machineId, conduct, notBeforeMs);
  }

  /** Takes out of their lanes all waiting entries of which that is true, and returns them. */
  remove(isMeant: (entry: T) => boolean): T[] {
    const removed: T[] = [];
    for (const lane of this.lanes.all()) {
      const before = removed.length;
      lane.remove(isMeant, (entry) => removed.push(entry));
      if (removed.length === before) continue;
      this.waitingCount -= removed.length - before;
      this.placeOrForget(lane);
    }
    return removed;
  }

  /**
   * Lets every machine keep any company again: what went wrong was the service, not they. In case it was some of
   * them after all, those who have failed go behind the others.
   */
  forgive(): void {
    this.lanes.forgive();
    this.turns.putFailedLast();
  }

  private placeOrForget(lane: Lane<T>): void {
    if (lane.size > 0) {
      this.turns.place(lane);
      return;
    }
    this.turns.delete(lane);
    if (!lane.inFlight) this.lanes.close(lane);
  }
}
