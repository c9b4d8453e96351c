import { type LaneEntry, LaneQueue } from '../../delivery/index.js';

/** What waits for the answer to a GET. */
export interface Waiting {
  /** Orders are asked for by this. */
  readonly key: string;
  /** Two requests of the same version need one answer; undefined where events do not say it. */
  readonly version: string | undefined;
  /** Its partition was revoked: nobody takes the answer. */
  readonly isLost?: boolean;
}

/** A request in the lane of its order, with what is known of the order's GETs. */
interface Entry<W> extends LaneEntry {
  request: W;
  /** GETs that have failed since the last that did not. */
  failures: number;
  /** Real milliseconds of the first answer in a row that the order is not there. */
  goneSinceMs: number | undefined;
}

/**
 * The orders to ask an ERP for, each in a lane of its own ({@link LaneQueue}, which an order is a machine to) with at
 * most one GET under way. Pure: times are handed in.
 *
 * A request that comes in while a GET is under way waits for the next one: the GET may have been answered before the
 * change that the request announces. Of several that wait the newest stays: one answer holds the changes of all.
 */
export class RequestLanes<W extends Waiting> {
  private readonly queue = new LaneQueue<Entry<W>>({ maxMachines: 1, maxBytes: Infinity });
  /** By order. */
  private readonly inCall = new Map<string, Entry<W>>();

  /** Orders that no GET is under way for. */
  get waiting(): number {
    return this.queue.busyMachines - this.callsUnderWay;
  }

  get callsUnderWay(): number {
    return this.inCall.size;
  }

  /** Real milliseconds at which the next GET may begin; Infinity while none waits for its time. */
  nextDueMs(nowMs: number): number {
    return this.queue.nextDueMs(nowMs);
  }

  /** All that wait, those in a call left out. */
  *waitingRequests(): Iterable<W> {
    for (const { request } of this.queue.allWaiting()) yield request;
  }

  /**
   * Returns the request that need not wait: the older one that waited is answered by the same GET; the one that is
   * added, by the GET under way for the same version, unless that is lost.
   */
  add(request: W): W | undefined {
    const { key, version } = request;
    const asked = this.inCall.get(key)?.request;
    if (version !== undefined && asked?.version === version && asked.isLost !== true) {
      return request;
    }
    const [waiting] = this.queue.waitingOf(key);
    const older = waiting?.request;
    if (waiting !== undefined) waiting.request = request;
    else {
      const entry = { machineId: key, bytes: 0, request };
      this.queue.enqueue({ ...entry, failures: 0, goneSinceMs: undefined });
    }
    return older;
  }

  /** Begins a GET for the order whose turn it is; undefined where none is ready. */
  take(nowMs: number): W | undefined {
    const [entry] = this.queue.takeBatch(nowMs);
    if (entry !== undefined) this.inCall.set(entry.machineId, entry);
    return entry?.request;
  }

  /** The GET for the order has an answer; a request that came meanwhile is ready for the next. */
  answered(key: string): void {
    if (this.inCall.delete(key)) this.queue.releaseMachine(key, 'unknown');
  }

  /**
   * The GET for the order has to be made again, not before that time. Returns the request that need not wait any more,
   * since a newer one does.
   */
  postpone(key: string, notBeforeMs: number, hasFailed: boolean): W | undefined {
    const entry = this.inCall.get(key);
    if (entry === undefined) return undefined;
    this.inCall.delete(key);
    if (hasFailed) entry.failures += 1;
    const [newer] = this.queue.waitingOf(key);
    if (newer === undefined) {
      this.queue.putBack(entry, 'unknown', notBeforeMs);
      return undefined;
    }
    this.queue.replaceAll(key, [{ ...entry, request: newer.request }]);
    this.queue.releaseMachine(key, 'unknown', notBeforeMs);
    return entry.request;
  }

  /** Of an order that a GET is under way for. */
  failuresOf(key: string): number {
    return this.inCall.get(key)?.failures ?? 0;
  }

  /** The ERP says that the order is not there; returns for how many real milliseconds it has been saying so. */
  gone(key: string, nowMs: number): number {
    const entry = this.inCall.get(key);
    if (entry === undefined) return 0;
    entry.goneSinceMs ??= nowMs;
    return nowMs - entry.goneSinceMs;
  }

  /** Takes out what waits and is wanted no more. A GET under way goes on; its request is dropped as it ends. */
  drop(isDropped: (request: W) => boolean): W[] {
    const dropped = this.queue.removeWaiting(({ request }) => isDropped(request));
    return dropped.map(({ request }) => request);
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
