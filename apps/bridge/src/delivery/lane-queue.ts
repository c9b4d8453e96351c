import { DueQueue } from '#libs/delivery';

export interface BatchLimits {
  maxMachines: number;
  maxBytes: number;
}

/** Idle machines whose batch limit is remembered. */
const MAX_IDLE_SUSPECTS = 10_000;

/**
 * A lane of entries for each machine, in order, one of them under way at a time. Entries of different machines leave
 * together in batches. A machine whose batches fail leaves in ever smaller batches, until it is alone and delays no
 * other machine. Machines take turns: a machine goes to the end of the queue after its turn. Pure: knows neither time
 * nor the service.
 */
export class LaneQueue<T extends LaneEntry> {
  /** Lanes by machine: those with entries, and idle ones whose last calls failed. */
  private readonly lanes = new Map<string, Lane<T>>();
  /** Machines of those idle lanes, oldest first. */
  private readonly idleSuspects = new Set<string>();
  /** Lanes that may send, in the order of their turns. */
  private readonly ready = new Set<Lane<T>>();
  /** Lanes that may not send yet, by due time. An item is outdated once its lane's time has changed. */
  private readonly blocked = new DueQueue<Lane<T>>();
  private waitingCount = 0;

  /** @param sizeOf bytes of an entry in a request */
  constructor(
    private readonly limits: BatchLimits,
    private readonly sizeOf: (entry: T) => number = () => 0,
  ) {}

  /** Waiting entries, whether they may be sent now or not; entries under way are not counted. */
  get waitingEntries(): number {
    return this.waitingCount;
  }

  get busyMachines(): number {
    return this.lanes.size - this.idleSuspects.size;
  }

  readyMachines(nowMs: number): number {
    return this.readyAt(nowMs).size;
  }

  /** When the next machine may send: `nowMs` if one is ready, Infinity if no machine waits. */
  nextDueMs(nowMs: number): number {
    return this.readyAt(nowMs).size > 0 ? nowMs : this.blocked.earliestMs;
  }

  /** The machine's waiting entries, oldest first. */
  waitingOf(machineId: string): readonly T[] {
    return this.lanes.get(machineId)?.waiting ?? [];
  }

  *allWaiting(): Iterable<T> {
    for (const { waiting } of this.lanes.values()) yield* waiting;
  }

  /** Whether any entry satisfies the predicate that is first in its lane while no entry of its machine is under way. */
  hasFirstEntry(matches: (entry: T) => boolean): boolean {
    for (const { first, inFlight } of this.lanes.values()) {
      if (first !== undefined && !inFlight && matches(first)) return true;
    }
    return false;
  }

  isInFlight(machineId: string): boolean {
    return this.lanes.get(machineId)?.inFlight === true;
  }

  enqueue(entry: T): void {
    const lane = this.laneOf(entry.machineId);
    lane.pushEntry(entry);
    this.waitingCount += 1;
    if (lane.waiting.length === 1) this.enqueueLane(lane);
  }

  /** Replaces the machine's waiting entries; `entries` must not be empty. */
  replaceAll(machineId: string, entries: readonly T[]): void {
    const lane = this.laneOf(machineId);
    const before = lane.waiting.length;
    lane.waiting = [...entries];
    this.waitingCount += entries.length - before;
    if (before === 0) this.enqueueLane(lane);
  }

  /**
   * Takes the next entries for one request, of machines with no entry under way. Each is under way until {@link
   * releaseMachine}. The ready machines are shared evenly over `callCount` requests, of which this is the first.
   */
  takeBatch(nowMs: number, callCount = 1): T[] {
    const ready = this.readyAt(nowMs);
    return this.takeFromLanes(ready, Math.ceil(ready.size / callCount));
  }

  /** Like {@link takeBatch}, of machines whose last call went well if possible, to test whether calls get through. */
  takeProbe(nowMs: number): T[] {
    const ready = this.readyAt(nowMs);
    const blameless = [...ready].filter(({ hasFailed }) => !hasFailed);
    return this.takeFromLanes(blameless.length > 0 ? blameless : ready, ready.size);
  }

  private takeFromLanes(lanes: Iterable<Lane<T>>, share: number): T[] {
    const chosen = this.chooseBatch(lanes, share);
    const entries: T[] = [];
    for (const lane of chosen) {
      const entry = lane.sendFirst(chosen.length);
      if (entry !== undefined) entries.push(entry);
      this.ready.delete(lane);
    }
    this.waitingCount -= entries.length;
    return entries;
  }

  /** The lanes whose first entries share a request, in the order of turns, within the limits and at most `share`. */
  private chooseBatch(lanes: Iterable<Lane<T>>, share: number): Lane<T>[] {
    const { maxMachines, maxBytes } = this.limits;
    const chosen: Lane<T>[] = [];
    let batchSize = Math.min(maxMachines, share);
    let bytes = 0;
    for (const lane of lanes) {
      if (chosen.length >= batchSize) break;
      if (lane.first === undefined || chosen.length >= lane.batchLimit) continue;
      // A single entry goes whatever its size.
      if (batchSize > 1) bytes += this.sizeOf(lane.first);
      if (chosen.length > 0 && bytes > maxBytes) break;
      batchSize = Math.min(batchSize, lane.batchLimit);
      chosen.push(lane);
    }
    return chosen;
  }

  /** Ends the machine's entry under way; its waiting entries are sent at `notBeforeMs` at the earliest. */
  releaseMachine(machineId: string, quality: CallQuality, notBeforeMs = 0): void {
    const lane = this.laneOf(machineId);
    lane.callEnded(quality, notBeforeMs);
    this.enqueueOrRemove(lane);
  }

  /** Like {@link releaseMachine}, but puts the entry that was under way back at the head of its lane. */
  putBack(entry: T, quality: CallQuality, notBeforeMs: number): void {
    this.laneOf(entry.machineId).waiting.unshift(entry);
    this.waitingCount += 1;
    this.releaseMachine(entry.machineId, quality, notBeforeMs);
  }

  /** Removes and returns the waiting entries that satisfy the predicate. */
  removeWaiting(isMeant: (entry: T) => boolean): T[] {
    const removed: T[] = [];
    for (const lane of [...this.lanes.values()]) {
      const before = lane.waiting.length;
      lane.waiting = lane.waiting.filter((entry) => {
        if (!isMeant(entry)) return true;
        removed.push(entry);
        return false;
      });
      if (lane.waiting.length === before) continue;
      this.waitingCount += lane.waiting.length - before;
      this.enqueueOrRemove(lane);
    }
    return removed;
  }

  /**
   * Lifts the batch limits after an outage of the service. Machines that failed may be at fault themselves: they go
   * last, at most an eighth of them in one call until it goes well. Otherwise a faulty one would delay all again.
   */
  liftBatchLimits(): void {
    for (const machineId of this.idleSuspects) this.lanes.delete(machineId);
    this.idleSuspects.clear();
    const failing = [...this.lanes.values()].filter(({ hasFailed }) => hasFailed);
    const limit = partOf(Math.min(failing.length, this.limits.maxMachines), SHARE);
    for (const lane of this.lanes.values()) {
      lane.batchLimit = lane.hasFailed ? Math.max(lane.batchLimit, limit) : NO_BATCH_LIMIT;
    }
    for (const lane of [...this.ready].filter(({ hasFailed }) => hasFailed)) {
      this.ready.delete(lane);
      this.ready.add(lane);
    }
  }

  /** The lanes that may send at `nowMs`, in the order of their turns. */
  private readyAt(nowMs: number): ReadonlySet<Lane<T>> {
    while (this.blocked.earliestMs <= nowMs) {
      const lane = this.blocked.takeEarliest();
      if (lane === undefined || lane.inFlight || lane.waiting.length === 0) continue;
      if (lane.notBeforeMs <= nowMs) this.ready.add(lane);
    }
    return this.ready;
  }

  private enqueueOrRemove(lane: Lane<T>): void {
    if (lane.waiting.length > 0) {
      this.enqueueLane(lane);
      return;
    }
    this.ready.delete(lane);
    if (!lane.inFlight) this.removeLane(lane);
  }

  private laneOf(machineId: string): Lane<T> {
    const known = this.lanes.get(machineId);
    if (known !== undefined) {
      if (known.batchLimit !== NO_BATCH_LIMIT) this.idleSuspects.delete(machineId);
      return known;
    }
    const lane = new Lane<T>(machineId);
    this.lanes.set(machineId, lane);
    return lane;
  }

  /** Removes an empty lane with no entry under way, unless its batch limit is to be remembered. */
  private removeLane(lane: Lane<T>): void {
    const { machineId } = lane;
    lane.notBeforeMs = 0;
    if (lane.batchLimit === NO_BATCH_LIMIT) {
      this.lanes.delete(machineId);
      return;
    }
    // Bounded: messages may name any number of machines that only the service knows not to exist.
    this.idleSuspects.delete(machineId);
    this.idleSuspects.add(machineId);
    if (this.idleSuspects.size <= MAX_IDLE_SUSPECTS) return;
    const [oldest] = this.idleSuspects;
    if (oldest === undefined) return;
    this.idleSuspects.delete(oldest);
    this.lanes.delete(oldest);
  }

  /** Puts the lane behind all others, from its due time on. */
  private enqueueLane(lane: Lane<T>): void {
    if (lane.inFlight) return;
    if (lane.notBeforeMs > 0) this.blocked.addItem(lane.notBeforeMs, lane);
    else this.ready.add(lane);
  }
}

/** An entry of a machine's lane. */
export interface LaneEntry {
  readonly machineId: string;
}

/** One machine's waiting entries, oldest first, and the results of its calls. */
class Lane<T> {
  waiting: T[] = [];
  /** An entry has left the lane for a call. */
  inFlight = false;
  /** The last call failed, or could not be made. */
  hasFailed = false;
  /** Real milliseconds before which no entry is sent. */
  notBeforeMs = 0;
  /** Machines that may share a call, this one included. */
  batchLimit = NO_BATCH_LIMIT;
  private lastBatchSize = 1;

  constructor(readonly machineId: string) {}

  get first(): T | undefined {
    return this.waiting[0];
  }

  /** Most lanes hold one entry, and V8 makes room for seventeen when it pushes onto an empty array. */
  pushEntry(entry: T): void {
    if (this.waiting.length === 0) this.waiting = [entry];
    else this.waiting.push(entry);
  }

  /** Takes the first entry, for a call of `batchSize` machines, this one included. */
  sendFirst(batchSize: number): T | undefined {
    this.inFlight = true;
    this.lastBatchSize = batchSize;
    return this.waiting.shift();
  }

  callEnded(quality: CallQuality, notBeforeMs: number): void {
    this.inFlight = false;
    this.notBeforeMs = notBeforeMs;
    this.batchLimit = batchLimitAfter(this.batchLimit, this.lastBatchSize, quality);
    // A machine whose call went well or was refused need not wait.
    if (notBeforeMs > 0) this.hasFailed = true;
    else if (quality !== 'unknown') this.hasFailed = false;
  }
}

/** How a call went: well; failed, shared or alone; inconclusively; or slowly, perhaps because of one machine. */
export type CallQuality = 'ok' | 'suspect' | 'failed' | 'unknown' | SlowCall;

export interface SlowCall {
  /** Duration as a multiple of a usual call's. */
  readonly slowness: number;
}

/** The limit of a machine that has not failed. A small integer: V8 would box Infinity in every lane. */
export const NO_BATCH_LIMIT = 2 ** 30;
/** Divisor of the batch limit after a failure: in a few calls a faulty machine is alone and delays no others. */
const SHARE = 8;
/** The most time that the next calls of a slow call's machines may take together, as a multiple of the slow call. */
const EFFORT = 2;

/** Machines that may share a machine's next call, itself included; `allowed` might share the last one, `had` did. */
export function batchLimitAfter(allowed: number, lastSize: number, quality: CallQuality): number {
  if (typeof quality === 'object') return partOf(lastSize, EFFORT * quality.slowness);
  switch (quality) {
    case 'ok':
      return NO_BATCH_LIMIT;
    case 'suspect':
      return partOf(lastSize, SHARE);
    case 'failed':
      return 1;
    case 'unknown':
      return allowed;
    default:
      return quality satisfies never;
  }
}

function partOf(size: number, parts: number): number {
  return Math.max(1, Math.floor(size / parts));
}
