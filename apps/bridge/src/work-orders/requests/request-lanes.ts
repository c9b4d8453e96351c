import { DueQueue } from '#libs/delivery';

/** What waits for the answer to a GET. */
export interface Waiting {
  /** Orders are asked for by this. */
  readonly key: string;
  /** Two requests of the same version need one answer; undefined where events do not say it. */
  readonly version: string | undefined;
}

/** What became of a request that was added. */
export type Added<W> =
  /** It waits; the older one that waited is answered by the same GET, and need not. */
  | { kind: 'waits'; superseded: W | undefined }
  /** The GET under way is for the same version: its answer is this one's as well. */
  | { kind: 'contained' };

interface Lane<W> {
  /** The newest that a GET has yet to begin for. */
  waiting: W | undefined;
  inCall: W | undefined;
  /** GETs that have failed since the last that did not. */
  failures: number;
  /** Real milliseconds. */
  notBeforeMs: number;
  /** Real milliseconds of the first answer in a row that the order is not there. */
  goneSinceMs: number | undefined;
}

/**
 * The orders to ask an ERP for, each in a lane of its own with at most one GET under way. Pure: times are handed in.
 *
 * A lane is *ready* (a request waits, its time has come), *postponed* (a GET has failed, its time has not come), *in
 * call*, or gone. A request that comes in while a GET is under way waits for the next one: the GET may have been
 * answered before the change that the request announces. Of several that wait the newest stays: one answer holds the
 * changes of all.
 */
export class RequestLanes<W extends Waiting> {
  private readonly lanes = new Map<string, Lane<W>>();
  /** Keys in the order of their turns. */
  private readonly ready = new Set<string>();
  private readonly postponed = new DueQueue<string>();
  private inCall = 0;

  /** Requests that no GET is under way for. */
  get waiting(): number {
    return this.lanes.size - this.inCall;
  }

  get callsUnderWay(): number {
    return this.inCall;
  }

  /** Real milliseconds at which the next postponed lane becomes ready; undefined while one is, or none waits. */
  get nextDueMs(): number | undefined {
    return this.ready.size > 0 ? undefined : this.postponed.earliestMs;
  }

  get hasReady(): boolean {
    return this.ready.size > 0;
  }

  /** All that wait, those in a call left out. */
  *waitingRequests(): Iterable<W> {
    for (const { waiting } of this.lanes.values()) if (waiting !== undefined) yield waiting;
  }

  add(request: W): Added<W> {
    const { key, version } = request;
    const lane = this.lanes.get(key);
    if (lane === undefined) {
      this.lanes.set(key, {
        ...{ waiting: request, inCall: undefined, failures: 0 },
        ...{ notBeforeMs: 0, goneSinceMs: undefined },
      });
      this.ready.add(key);
      return { kind: 'waits', superseded: undefined };
    }
    if (version !== undefined && lane.inCall?.version === version) return { kind: 'contained' };
    const superseded = lane.waiting;
    lane.waiting = request;
    return { kind: 'waits', superseded };
  }

  /** Begins a GET for the lane whose turn it is; undefined where none is ready. */
  take(nowMs: number): W | undefined {
    this.wake(nowMs);
    for (const key of this.ready) {
      this.ready.delete(key);
      const lane = this.lanes.get(key);
      // it may have been dropped, or have become ready twice
      if (lane?.waiting === undefined || lane.inCall !== undefined) continue;
      lane.inCall = lane.waiting;
      lane.waiting = undefined;
      this.inCall += 1;
      return lane.inCall;
    }
    return undefined;
  }

  /** The GET for the order has an answer; a request that came meanwhile is ready for the next. */
  answered(key: string): void {
    const lane = this.endCall(key);
    if (lane === undefined) return;
    lane.failures = 0;
    lane.goneSinceMs = undefined;
    if (lane.waiting === undefined) this.lanes.delete(key);
    else this.makeReady(key, lane, 0);
  }

  /**
   * The GET for the order has to be made again, not before that time. Returns the request that need not wait any more,
   * since a newer one does.
   */
  postpone(key: string, notBeforeMs: number, hasFailed: boolean): W | undefined {
    const lane = this.lanes.get(key);
    const older = lane?.inCall;
    this.endCall(key);
    if (lane === undefined || older === undefined) return undefined;
    if (hasFailed) lane.failures += 1;
    const superseded = lane.waiting === undefined ? undefined : older;
    lane.waiting ??= older;
    this.makeReady(key, lane, notBeforeMs);
    return superseded;
  }

  failuresOf(key: string): number {
    return this.lanes.get(key)?.failures ?? 0;
  }

  /** The ERP says that the order is not there; returns for how many real milliseconds it has been saying so. */
  gone(key: string, nowMs: number): number {
    const lane = this.lanes.get(key);
    if (lane === undefined) return 0;
    lane.goneSinceMs ??= nowMs;
    return nowMs - lane.goneSinceMs;
  }

  /** Takes out what waits and is wanted no more. A GET under way goes on; its request is dropped as it ends. */
  drop(isDropped: (request: W) => boolean): W[] {
    const dropped: W[] = [];
    for (const [key, lane] of this.lanes) {
      if (lane.waiting === undefined || !isDropped(lane.waiting)) continue;
      dropped.push(lane.waiting);
      lane.waiting = undefined;
      if (lane.inCall === undefined) this.forget(key);
    }
    return dropped;
  }

  private forget(key: string): void {
    this.lanes.delete(key);
    this.ready.delete(key);
  }

  private endCall(key: string): Lane<W> | undefined {
    const lane = this.lanes.get(key);
    if (lane?.inCall === undefined) return undefined;
    lane.inCall = undefined;
    this.inCall -= 1;
    return lane;
  }

  private makeReady(key: string, lane: Lane<W>, notBeforeMs: number): void {
    lane.notBeforeMs = notBeforeMs;
    if (notBeforeMs <= 0) this.ready.add(key);
    else this.postponed.add(notBeforeMs, key);
  }

  /** Lanes whose time has come get their turn behind those that are ready. */
  private wake(nowMs: number): void {
    while ((this.postponed.earliestMs ?? Infinity) <= nowMs) {
      const key = this.postponed.take();
      const lane = key === undefined ? undefined : this.lanes.get(key);
      if (key === undefined || lane === undefined || lane.inCall !== undefined) continue;
      // a lane that was dropped and came again has another time
      if (lane.notBeforeMs <= nowMs) this.ready.add(key);
    }
  }
}

/** How long an answer may be used for a request of the same version. */
const KNOWN_MS = 300_000;
const MOST_ANSWERS = 1000;
const MOST_BYTES = 8 * 1024 * 1024;

/** An answer, the size it had, and when its GET began. */
export interface KnownAnswer<A> {
  version: string;
  answer: A;
  bytes: number;
  /** Real milliseconds, monotonic. */
  atMs: number;
}

/**
 * The last answers by order and version: what is sent twice, or by several events of one change, is asked for once.
 * Bounded in number, bytes and age. Pure.
 */
export class KnownAnswers<A> {
  private readonly answers = new Map<string, KnownAnswer<A>>();
  private bytes = 0;

  get(key: string, version: string | undefined, nowMs: number): A | undefined {
    const known = this.answers.get(key);
    if (known === undefined || version === undefined || known.version !== version) return undefined;
    if (nowMs - known.atMs <= KNOWN_MS) return known.answer;
    this.forget(key);
    return undefined;
  }

  put(key: string, known: KnownAnswer<A>): void {
    this.forget(key);
    if (known.bytes > MOST_BYTES) return;
    this.answers.set(key, known);
    this.bytes += known.bytes;
    for (const oldest of this.answers.keys()) {
      if (this.answers.size <= MOST_ANSWERS && this.bytes <= MOST_BYTES) break;
      this.forget(oldest);
    }
  }

  forget(key: string): void {
    this.bytes -= this.answers.get(key)?.bytes ?? 0;
    this.answers.delete(key);
  }
}
