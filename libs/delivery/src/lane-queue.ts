import { DueQueue } from './due-queue.js';
import { ANY_COMPANY, companyAfter, type Conduct } from './company.js';
import { type BatchLimits, LaneBatch, type LaneEntry } from './lane-batch.js';
import { Lane } from './lane.js';

/** Machines with nothing to send that are remembered for what their last calls were like. */
const MAX_IDLE_SUSPECTS = 10_000;

/**
 * What waits for the service: a lane a machine, in order, one entry of it under way at a time. Entries
 * of different machines leave together in batches; a machine whose batches go wrong leaves in ever
 * smaller company, until it is alone and no longer costs anybody else. Machines take turns: one that
 * has had its turn goes behind all others that wait. Pure: knows neither time nor the service.
 */
export class LaneQueue<T extends LaneEntry> {
  private readonly lanes = new Map<string, Lane<T>>();
  /** Lanes whose first entry may be sent, in the order of their turns. */
  private readonly ready = new Set<Lane<T>>();
  /** Lanes that may not send yet; an entry is outdated when its lane's time has changed since. */
  private readonly blocked = new DueQueue<Lane<T>>();
  private readonly idleSuspects = new Set<string>();
  private waitingCount = 0;

  constructor(private readonly limits: BatchLimits) {}

  /** Entries that wait, whether they may be sent now or not; those under way are not among them. */
  get waiting(): number {
    return this.waitingCount;
  }

  /** Machines with an entry waiting or under way. */
  get busyMachines(): number {
    return this.lanes.size - this.idleSuspects.size;
  }

  /** Machines whose first entry may be sent at `nowMs`. */
  readyMachines(nowMs: number): number {
    this.unblock(nowMs);
    return this.ready.size;
  }

  /** When the next blocked machine may send; undefined when none is blocked. */
  get nextDueMs(): number | undefined {
    return this.blocked.earliestMs;
  }

  /** The youngest entry of a machine that waits. */
  lastOf(machineId: string): T | undefined {
    return this.lanes.get(machineId)?.last;
  }

  /** All entries of a machine that wait, oldest first. */
  waitingOf(machineId: string): readonly T[] {
    return this.lanes.get(machineId)?.all() ?? [];
  }

  /** Whether an entry of the machine is under way. */
  isInFlight(machineId: string): boolean {
    return this.lanes.get(machineId)?.inFlight === true;
  }

  add(entry: T): void {
    const lane = this.laneOf(entry.machineId);
    lane.add(entry);
    this.waitingCount += 1;
    if (lane.size === 1) this.place(lane);
  }

  /** Puts the entries, one at least, where all that wait of the machine are now. */
  replaceAll(machineId: string, entries: readonly T[]): void {
    const lane = this.laneOf(machineId);
    const before = lane.size;
    lane.replaceAll(entries);
    this.waitingCount += lane.size - before;
    if (before === 0) this.place(lane);
  }

  /**
   * The next entries to send in one request, of machines that have none under way; each machine is
   * then in flight until {@link free}. Empty when nothing may be sent.
   *
   * @param calls how many requests are to share what is ready evenly; this is the first of them
   */
  take(nowMs: number, calls = 1): T[] {
    this.unblock(nowMs);
    return this.takeOf(this.ready, Math.ceil(this.ready.size / calls));
  }

  /**
   * As {@link take}, to see whether anything gets through: of machines whose last call did not go wrong, if there
   * are any. Others may fail for reasons of their own, and be many.
   */
  takeProbe(nowMs: number): T[] {
    this.unblock(nowMs);
    const blameless = [...this.ready].filter(({ hasFailed }) => !hasFailed);
    return this.takeOf(blameless.length > 0 ? blameless : this.ready, this.ready.size);
  }

  private takeOf(lanes: Iterable<Lane<T>>, share: number): T[] {
    const batch = new LaneBatch<T>(this.limits, share);
    for (const lane of lanes) {
      const { first } = lane;
      if (first === undefined) continue;
      const admission = batch.admit(first, lane.company);
      if (admission === 'full') break;
      lane.inFlight = admission === 'admitted';
    }
    this.send(batch.entries.length);
    return batch.entries;
  }

  /** So many of those that are ready have been put in flight, which is known only now; their entries leave the lanes. */
  private send(count: number): void {
    let left = count;
    for (const lane of this.ready) {
      if (left === 0) break;
      if (!lane.inFlight) continue;
      left -= 1;
      lane.lastCompany = count;
      lane.removeFirst();
      this.ready.delete(lane);
    }
    this.waitingCount -= count;
  }

  /**
   * Nothing of the machine is under way any more; the next entry that waits goes at `notBeforeMs` at the
   * earliest. With none waiting that is forgotten.
   */
  free(machineId: string, conduct: Conduct, notBeforeMs = 0): void {
    const lane = this.laneOf(machineId);
    lane.inFlight = false;
    lane.notBeforeMs = notBeforeMs;
    lane.company = companyAfter(lane.company, lane.lastCompany, conduct);
    // whose call went well, or was refused, need not wait
    if (notBeforeMs > 0) lane.hasFailed = true;
    else if (conduct !== 'untold') lane.hasFailed = false;
    this.placeOrForget(lane);
  }

  /** As {@link free}, with the entry that was under way back at the head of its lane. */
  putBack(entry: T, conduct: Conduct, notBeforeMs: number): void {
    const lane = this.laneOf(entry.machineId);
    lane.addFirst(entry);
    this.waitingCount += 1;
    this.free(entry.machineId, conduct, notBeforeMs);
  }

  /** Takes out of their lanes all waiting entries of which that is true, and returns them. */
  remove(isMeant: (entry: T) => boolean): T[] {
    const removed: T[] = [];
    for (const lane of [...this.lanes.values()]) {
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
    for (const lane of this.lanes.values()) lane.company = ANY_COMPANY;
    for (const lane of [...this.ready].filter(({ hasFailed }) => hasFailed)) {
      this.ready.delete(lane);
      this.ready.add(lane);
    }
    for (const machineId of this.idleSuspects) this.lanes.delete(machineId);
    this.idleSuspects.clear();
  }

  private unblock(nowMs: number): void {
    for (let due = this.blocked.earliestMs; due !== undefined && due <= nowMs;) {
      const lane = this.blocked.take();
      due = this.blocked.earliestMs;
      if (lane === undefined || lane.inFlight || lane.size === 0) continue;
      if (lane.notBeforeMs <= nowMs) this.ready.add(lane);
    }
  }

  private place(lane: Lane<T>): void {
    if (lane.inFlight) return;
    if (lane.notBeforeMs > 0) this.blocked.add(lane.notBeforeMs, lane);
    else this.ready.add(lane);
  }

  private placeOrForget(lane: Lane<T>): void {
    if (lane.size > 0) {
      this.place(lane);
      return;
    }
    this.ready.delete(lane);
    if (lane.inFlight) return;
    lane.notBeforeMs = 0;
    if (lane.company === ANY_COMPANY) this.lanes.delete(lane.machineId);
    else this.remember(lane.machineId);
  }

  /** As the youngest; messages may name machines without end that only the service knows to be none. */
  private remember(machineId: string): void {
    this.idleSuspects.delete(machineId);
    this.idleSuspects.add(machineId);
    if (this.idleSuspects.size <= MAX_IDLE_SUSPECTS) return;
    const [oldest] = this.idleSuspects;
    if (oldest === undefined) return;
    this.idleSuspects.delete(oldest);
    this.lanes.delete(oldest);
  }

  private laneOf(machineId: string): Lane<T> {
    const known = this.lanes.get(machineId);
    if (known !== undefined) {
      if (known.company !== ANY_COMPANY) this.idleSuspects.delete(machineId);
      return known;
    }
    const lane = new Lane<T>(machineId);
    this.lanes.set(machineId, lane);
    return lane;
  }
}
