import { DueQueue } from './due-queue.js';

/**
 * What waits for the service: a lane a machine, in order, one entry of it under way at a time. Entries
 * of different machines leave together in batches; a machine whose batches go wrong leaves in ever
 * smaller batches, until it is alone and holds up nobody else. Machines take turns: one that
 * has had its turn goes behind all others that wait. Pure: knows neither time nor the service.
 */
export class LaneQueue<T extends LaneEntry> {
  private readonly lanes = new LaneRegistry<T>();
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

  enqueue(entry: T): void {
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
   * then in flight until {@link releaseMachine}. Empty when nothing may be sent.
   *
   * @param calls how many requests are to share what is ready evenly; this is the first of them
   */
  takeBatch(nowMs: number, calls = 1): T[] {
    const ready = this.turns.readyAt(nowMs);
    return this.takeOf(ready, Math.ceil(ready.size / calls));
  }

  /**
   * As {@link takeBatch}, to see whether anything gets through: of machines whose last call did not go wrong, if there
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
  releaseMachine(machineId: string, conduct: CallQuality, notBeforeMs = 0): void {
    const lane = this.lanes.open(machineId);
    lane.callEnded(conduct, notBeforeMs);
    this.placeOrForget(lane);
  }

  /** As {@link releaseMachine}, with the entry that was under way back at the head of its lane. */
  putBack(entry: T, conduct: CallQuality, notBeforeMs: number): void {
    const lane = this.lanes.open(entry.machineId);
    lane.addFirst(entry);
    this.waitingCount += 1;
    this.releaseMachine(entry.machineId, conduct, notBeforeMs);
  }

  /** Takes out of their lanes all waiting entries of which that is true, and returns them. */
  removeWaiting(isMeant: (entry: T) => boolean): T[] {
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
   * Lifts the batch limits of all machines: the service was at fault, not they. In case it was some of
   * them after all, those who have failed go behind the others.
   */
  liftBatchLimits(): void {
    this.lanes.liftBatchLimits();
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

/** Machines with nothing to send that are remembered for what their last calls were like. */
const MAX_IDLE_SUSPECTS = 10_000;

/** The lanes of machines that have something to send, and of some that had when their last calls went wrong. */
class LaneRegistry<T> {
  private readonly lanes = new Map<string, Lane<T>>();
  private readonly idleSuspects = new Set<string>();

  /** Machines with an entry waiting or under way. */
  get busy(): number {
    return this.lanes.size - this.idleSuspects.size;
  }

  all(): Lane<T>[] {
    return [...this.lanes.values()];
  }

  get(machineId: string): Lane<T> | undefined {
    return this.lanes.get(machineId);
  }

  /** The lane of a machine that has something to send. */
  open(machineId: string): Lane<T> {
    const known = this.lanes.get(machineId);
    if (known !== undefined) {
      if (known.batchLimit !== NO_BATCH_LIMIT) this.idleSuspects.delete(machineId);
      return known;
    }
    const lane = new Lane<T>(machineId);
    this.lanes.set(machineId, lane);
    return lane;
  }

  /** It has nothing to send, and nothing under way. */
  close(lane: Lane<T>): void {
    lane.notBeforeMs = 0;
    if (lane.batchLimit === NO_BATCH_LIMIT) this.lanes.delete(lane.machineId);
    else this.remember(lane.machineId);
  }

  /** What went wrong was none of theirs. */
  liftBatchLimits(): void {
    for (const lane of this.lanes.values()) lane.batchLimit = NO_BATCH_LIMIT;
    for (const machineId of this.idleSuspects) this.lanes.delete(machineId);
    this.idleSuspects.clear();
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
}

/**
 * Which lanes may send, in the order of their turns, and which may later. Only lanes with an entry that waits and
 * none under way are of interest. Pure: times are handed in.
 */
class LaneTurns<T> {
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

/** Something to be done for one machine, in the order of its lane. */
export interface LaneEntry {
  readonly machineId: string;
  /** Size in a request, in bytes; asked for as it is put together. */
  readonly bytes: number;
}

export interface BatchLimits {
  maxMachines: number;
  maxBytes: number;
}

/**
 * The lanes whose first entries leave together in one request, none of them in a larger batch than its limit.
 *
 * @param lanes in the order of their turns
 * @param share of them that the request is for at the most, whatever the limits
 */
function chooseBatch<T extends LaneEntry>(
  lanes: Iterable<Lane<T>>,
  { maxMachines, maxBytes }: BatchLimits,
  share: number,
): Lane<T>[] {
  const chosen: Lane<T>[] = [];
  let batchSize = Math.min(maxMachines, share);
  let bytes = 0;
  for (const lane of lanes) {
    if (chosen.length >= batchSize) break;
    if (lane.first === undefined || chosen.length >= lane.batchLimit) continue;
    bytes += lane.first.bytes;
    if (chosen.length > 0 && bytes > maxBytes) break;
    batchSize = Math.min(batchSize, lane.batchLimit);
    chosen.push(lane);
  }
  return chosen;
}

/** One machine's entries that wait, oldest first, and what is known of its calls. */
export class Lane<T> {
  /** One entry at a time is out of the lane, on its way to the service. */
  inFlight = false;
  /** Its last call went wrong, or could not be made. */
  hasFailed = false;
  /** Real milliseconds before which nothing of it is sent. */
  notBeforeMs = 0;
  /** How many machines may share a call with it, itself included. */
  batchLimit = NO_BATCH_LIMIT;
  /** How many shared its last one. */
  private lastBatchSize = 1;
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
  sendFirst(batchSize: number): T | undefined {
    const { head } = this;
    this.inFlight = true;
    this.lastBatchSize = batchSize;
    this.removeFirst();
    return head;
  }

  /** Its call has ended; the next entry goes at `notBeforeMs` at the earliest. */
  callEnded(conduct: CallQuality, notBeforeMs: number): void {
    this.inFlight = false;
    this.notBeforeMs = notBeforeMs;
    this.batchLimit = batchLimitAfter(this.batchLimit, this.lastBatchSize, conduct);
    // whose call went well, or was refused, need not wait
    if (notBeforeMs > 0) this.hasFailed = true;
    else if (conduct !== 'unknown') this.hasFailed = false;
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
 * How a machine's call went: well; badly, shared with others; badly, alone; in a way that says nothing of the machine;
 * or so slowly that one machine of the batch may have held up the others.
 */
export type CallQuality = 'ok' | 'suspect' | 'failed' | 'unknown' | SlowCall;

export interface SlowCall {
  /** How many times as long as a usual call it took. */
  readonly slowness: number;
}

/**
 * A machine that is not suspected shares a call with as many as a call may have. A small integer: every lane
 * has one, and Infinity would be an object of its own in each.
 */
export const NO_BATCH_LIMIT = 2 ** 30;
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
export function batchLimitAfter(allowed: number, had: number, conduct: CallQuality): number {
  if (typeof conduct === 'object') return partOf(had, EFFORT * conduct.slowness);
  switch (conduct) {
    case 'ok':
      return NO_BATCH_LIMIT;
    case 'suspect':
      return partOf(had, SHARE);
    case 'failed':
      return 1;
    case 'unknown':
      return allowed;
    default:
      return conduct satisfies never;
  }
}

function partOf(had: number, parts: number): number {
  return Math.max(1, Math.floor(had / parts));
}
