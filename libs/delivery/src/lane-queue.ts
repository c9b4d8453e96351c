import { DueQueue } from './due-queue.js';
import { ANY_COMPANY, companyAfter, type Conduct } from './company.js';
import { type BatchLimits, LaneBatch, type LaneEntry } from './lane-batch.js';
import { emptyLane, type Lane } from './lane.js';

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
    return this.lanes.get(machineId)?.waiting.at(-1);
  }

  add(entry: T): void {
    const lane = this.laneOf(entry.machineId);
    lane.waiting.push(entry);
    this.waitingCount += 1;
    if (lane.waiting.length === 1) this.place(lane);
  }

  /** Puts the entry where the youngest one that waits is now. */
  replaceLast(entry: T): void {
    const { waiting } = this.laneOf(entry.machineId);
    if (waiting.length === 0) this.add(entry);
    else waiting[waiting.length - 1] = entry;
  }

  /**
   * The next entries to send in one request, of machines that have none under way; each machine is
   * then in flight until {@link free}. Empty when nothing may be sent.
   */
  take(nowMs: number): T[] {
    this.unblock(nowMs);
    const batch = new LaneBatch<T>(this.limits);
    const taken: Lane<T>[] = [];
    for (const lane of this.ready) {
      const [first] = lane.waiting;
      if (first === undefined) continue;
      const admission = batch.admit(first, lane.company);
      if (admission === 'full') break;
      if (admission === 'not with these') continue;
      lane.waiting.shift();
      this.waitingCount -= 1;
      lane.inFlight = true;
      this.ready.delete(lane);
      taken.push(lane);
    }
    for (const lane of taken) lane.lastCompany = taken.length;
    return batch.entries;
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
    this.placeOrForget(lane);
  }

  /** As {@link free}, with the entry that was under way back at the head of its lane. */
  putBack(entry: T, conduct: Conduct, notBeforeMs: number): void {
    const lane = this.laneOf(entry.machineId);
    lane.waiting.unshift(entry);
    this.waitingCount += 1;
    this.free(entry.machineId, conduct, notBeforeMs);
  }

  /** Takes out of their lanes all waiting entries of which that is true, and returns them. */
  remove(isMeant: (entry: T) => boolean): T[] {
    const removed: T[] = [];
    for (const lane of [...this.lanes.values()]) {
      const before = removed.length;
      const others: T[] = [];
      for (const entry of lane.waiting) (isMeant(entry) ? removed : others).push(entry);
      if (removed.length === before) continue;
      this.waitingCount -= removed.length - before;
      lane.waiting.splice(0, lane.waiting.length, ...others);
      this.placeOrForget(lane);
    }
    return removed;
  }

  /** Lets every machine keep any company again: what went wrong was the service, not they. */
  forgive(): void {
    for (const lane of this.lanes.values()) lane.company = ANY_COMPANY;
    for (const machineId of this.idleSuspects) this.lanes.delete(machineId);
    this.idleSuspects.clear();
  }

  private unblock(nowMs: number): void {
    for (let due = this.blocked.earliestMs; due !== undefined && due <= nowMs;) {
      const lane = this.blocked.take();
      due = this.blocked.earliestMs;
      if (lane === undefined || lane.inFlight || lane.waiting.length === 0) continue;
      if (lane.notBeforeMs <= nowMs) this.ready.add(lane);
    }
  }

  private place(lane: Lane<T>): void {
    if (lane.inFlight) return;
    if (lane.notBeforeMs > 0) this.blocked.add(lane.notBeforeMs, lane);
    else this.ready.add(lane);
  }

  private placeOrForget(lane: Lane<T>): void {
    if (lane.waiting.length > 0) {
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
    const lane = emptyLane<T>(machineId);
    this.lanes.set(machineId, lane);
    return lane;
  }
}
