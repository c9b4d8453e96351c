import { DueQueue } from '#libs/delivery';

export interface BatchLimits {
  maxMachines: number;
  maxBytes: number;
}

/** Machines with nothing to send that are remembered for what their last calls were like. */
const MAX_IDLE_SUSPECTS = 10_000;

/**
 * What waits for the service: a lane a machine, in order, one entry of it under way at a time. Entries
 * of different machines leave together in batches; a machine whose batches go wrong leaves in ever
 * smaller batches, until it is alone and holds up nobody else. Machines take turns: one that
 * has had its turn goes behind all others that wait. Pure: knows neither time nor the service.
 */
export class LaneQueue<T extends LaneEntry> {
  /** By machine: those that have something to send, and some that had when their last calls went wrong. */
  private readonly lanes = new Map<string, Lane<T>>();
  /** Machines of the latter lanes, the oldest first. */
  private readonly idleSuspects = new Set<string>();
  /** Lanes that may send, the one whose turn it is first. */
  private readonly ready = new Set<Lane<T>>();
  /** Lanes that may not send yet, by their time; one is outdated when its lane's time has changed since. */
  private readonly blocked = new DueQueue<Lane<T>>();
  private waitingCount = 0;

  /** @param sizeOf bytes of an entry in a request */
  constructor(
    private readonly limits: BatchLimits,
    private readonly sizeOf: (entry: T) => number = () => 0,
  ) {}

  /** Entries that wait, whether they may be sent now or not; those under way are not among them. */
  get waiting(): number {
    return this.waitingCount;
  }

  get busyMachines(): number {
    return this.lanes.size - this.idleSuspects.size;
  }

  readyMachines(nowMs: number): number {
    return this.readyAt(nowMs).size;
  }

  /** When the next machine may send: `nowMs` where one may already, Infinity where none waits for its time. */
  nextDueMs(nowMs: number): number {
    return this.readyAt(nowMs).size > 0 ? nowMs : this.blocked.earliestMs;
  }

  /** All entries of a machine that wait, oldest first. */
  waitingOf(machineId: string): readonly T[] {
    return this.lanes.get(machineId)?.waiting ?? [];
  }

  *allWaiting(): Iterable<T> {
    for (const { waiting } of this.lanes.values()) yield* waiting;
  }

  /** Whether that is true of an entry that is first in its lane, with none of its machine under way. */
  someFirst(isMeant: (entry: T) => boolean): boolean {
    for (const { first, inFlight } of this.lanes.values()) {
      if (first !== undefined && !inFlight && isMeant(first)) return true;
    }
    return false;
  }

  isInFlight(machineId: string): boolean {
    return this.lanes.get(machineId)?.inFlight === true;
  }

  enqueue(entry: T): void {
    const lane = this.laneOf(entry.machineId);
    lane.add(entry);
    this.waitingCount += 1;
    if (lane.waiting.length === 1) this.place(lane);
  }

  /** Puts the entries, one at least, where all that wait of the machine are now. */
  replaceAll(machineId: string, entries: readonly T[]): void {
    const lane = this.laneOf(machineId);
    const before = lane.waiting.length;
    lane.waiting = [...entries];
    this.waitingCount += entries.length - before;
    if (before === 0) this.place(lane);
  }

  /**
   * The next entries for one request, of machines with none under way; they are so until {@link releaseMachine}.
   * What is ready is shared evenly by so many `calls`, of which this is the first.
   */
  takeBatch(nowMs: number, calls = 1): T[] {
    const ready = this.readyAt(nowMs);
    return this.takeOf(ready, Math.ceil(ready.size / calls));
  }

  /** As {@link takeBatch}, of machines whose last call went well if possible, to see if anything gets through. */
  takeProbe(nowMs: number): T[] {
    const ready = this.readyAt(nowMs);
    const blameless = [...ready].filter(({ hasFailed }) => !hasFailed);
    return this.takeOf(blameless.length > 0 ? blameless : ready, ready.size);
  }

  private takeOf(lanes: Iterable<Lane<T>>, share: number): T[] {
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

  /** The lanes whose first entries share a request, in the order of turns, within their limits; `share` at most. */
  private chooseBatch(lanes: Iterable<Lane<T>>, share: number): Lane<T>[] {
    const { maxMachines, maxBytes } = this.limits;
    const chosen: Lane<T>[] = [];
    let batchSize = Math.min(maxMachines, share);
    let bytes = 0;
    for (const lane of lanes) {
      if (chosen.length >= batchSize) break;
      if (lane.first === undefined || chosen.length >= lane.batchLimit) continue;
      // alone it goes, whatever its size
      if (batchSize > 1) bytes += this.sizeOf(lane.first);
      if (chosen.length > 0 && bytes > maxBytes) break;
      batchSize = Math.min(batchSize, lane.batchLimit);
      chosen.push(lane);
    }
    return chosen;
  }

  /** Nothing of the machine is under way any more; what waits goes at `notBeforeMs` at the earliest. */
  releaseMachine(machineId: string, quality: CallQuality, notBeforeMs = 0): void {
    const lane = this.laneOf(machineId);
    lane.callEnded(quality, notBeforeMs);
    this.placeOrForget(lane);
  }

  /** As {@link releaseMachine}, with the entry that was under way back at the head of its lane. */
  putBack(entry: T, quality: CallQuality, notBeforeMs: number): void {
    this.laneOf(entry.machineId).waiting.unshift(entry);
    this.waitingCount += 1;
    this.releaseMachine(entry.machineId, quality, notBeforeMs);
  }

  /** Takes out of their lanes all waiting entries of which that is true, and returns them. */
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
      this.placeOrForget(lane);
    }
    return removed;
  }

  /**
   * Lifts batch limits: the service was at fault. In case some machines were, those that failed go last, and an eighth
   * of them in a call at the most until it goes well: one that is still at fault would hold up all of them again.
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

  /** Lanes that may send at `nowMs`, the one whose turn it is first. */
  private readyAt(nowMs: number): ReadonlySet<Lane<T>> {
    while (this.blocked.earliestMs <= nowMs) {
      const lane = this.blocked.take();
      if (lane === undefined || lane.inFlight || lane.waiting.length === 0) continue;
      if (lane.notBeforeMs <= nowMs) this.ready.add(lane);
    }
    return this.ready;
  }

  private placeOrForget(lane: Lane<T>): void {
    if (lane.waiting.length > 0) {
      this.place(lane);
      return;
    }
    this.ready.delete(lane);
    if (!lane.inFlight) this.forget(lane);
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

  /** Removes a lane with nothing to send and nothing under way, unless its batch limit is to be remembered. */
  private forget(lane: Lane<T>): void {
    const { machineId } = lane;
    lane.notBeforeMs = 0;
    if (lane.batchLimit === NO_BATCH_LIMIT) {
      this.lanes.delete(machineId);
      return;
    }
    // Messages may name machines without end that only the service knows to be none.
    this.idleSuspects.delete(machineId);
    this.idleSuspects.add(machineId);
    if (this.idleSuspects.size <= MAX_IDLE_SUSPECTS) return;
    const [oldest] = this.idleSuspects;
    if (oldest === undefined) return;
    this.idleSuspects.delete(oldest);
    this.lanes.delete(oldest);
  }

  /** Behind all others, from its time on. */
  private place(lane: Lane<T>): void {
    if (lane.inFlight) return;
    if (lane.notBeforeMs > 0) this.blocked.add(lane.notBeforeMs, lane);
    else this.ready.add(lane);
  }
}

/** Something to be done for one machine, in the order of its lane. */
export interface LaneEntry {
  readonly machineId: string;
}

/** One machine's entries that wait, oldest first, and what is known of its calls. */
class Lane<T> {
  waiting: T[] = [];
  /** One entry at a time is out of the lane, on its way to the service. */
  inFlight = false;
  /** Its last call went wrong, or could not be made. */
  hasFailed = false;
  /** Real milliseconds before which nothing of it is sent. */
  notBeforeMs = 0;
  /** How many machines may share a call with it, itself included. */
  batchLimit = NO_BATCH_LIMIT;
  private lastBatchSize = 1;

  constructor(readonly machineId: string) {}

  get first(): T | undefined {
    return this.waiting[0];
  }

  /** Most lanes hold one entry at a time: an empty list that is pushed onto takes room for seventeen. */
  add(entry: T): void {
    if (this.waiting.length === 0) this.waiting = [entry];
    else this.waiting.push(entry);
  }

  /** Takes out the first, which leaves in a call for so many machines, this one included. */
  sendFirst(batchSize: number): T | undefined {
    this.inFlight = true;
    this.lastBatchSize = batchSize;
    return this.waiting.shift();
  }

  callEnded(quality: CallQuality, notBeforeMs: number): void {
    this.inFlight = false;
    this.notBeforeMs = notBeforeMs;
    this.batchLimit = batchLimitAfter(this.batchLimit, this.lastBatchSize, quality);
    // whose call went well, or was refused, need not wait
    if (notBeforeMs > 0) this.hasFailed = true;
    else if (quality !== 'unknown') this.hasFailed = false;
  }
}

/** How a call went: well; badly, shared or alone; in a way that says nothing; or slowly, perhaps for one machine. */
export type CallQuality = 'ok' | 'suspect' | 'failed' | 'unknown' | SlowCall;

export interface SlowCall {
  /** How many times as long as a usual call it took. */
  readonly slowness: number;
}

/** For a machine that is not suspected. A small integer: Infinity would be an object of its own in every lane. */
export const NO_BATCH_LIMIT = 2 ** 30;
/** Few rounds until the machine at fault is alone: in each, those that share its call wait with it. */
const SHARE = 8;
/** How much longer than the slow call, at the most, the calls may take together that its machines make next. */
const EFFORT = 2;

/** How many may share a machine's next call, itself included, when `allowed` might share the last one and `had` did. */
export function batchLimitAfter(allowed: number, had: number, quality: CallQuality): number {
  if (typeof quality === 'object') return partOf(had, EFFORT * quality.slowness);
  switch (quality) {
    case 'ok':
      return NO_BATCH_LIMIT;
    case 'suspect':
      return partOf(had, SHARE);
    case 'failed':
      return 1;
    case 'unknown':
      return allowed;
    default:
      return quality satisfies never;
  }
}

function partOf(had: number, parts: number): number {
  return Math.max(1, Math.floor(had / parts));
}
