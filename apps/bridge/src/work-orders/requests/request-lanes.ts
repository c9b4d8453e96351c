import { type LaneEntry, LaneQueue } from '../../delivery/index.js';

/** What waits for the answer to a GET, in the lane of its order: `machineId` is the id of that. */
export interface Waiting extends LaneEntry {
  /** Two requests of the same version need one answer; undefined where events do not say it. */
  readonly version: string | undefined;
  /** Its partition was revoked: nobody takes the answer. */
  readonly isLost?: boolean;
  /** GETs for the order that have failed since the last that did not. */
  failures: number;
  /** Real milliseconds of the first answer in a row that the order is not there. */
  goneSinceMs: number | undefined;
}

/**
 * The orders to ask an ERP for, each in a lane of its own with at most one GET under way. Pure: times are handed in.
 *
 * A request that comes in while a GET is under way waits for the next one: the GET may have been answered before the
 * change that the request announces. Of several that wait the newest stays: one answer holds the changes of all.
 */
export class RequestLanes<W extends Waiting> {
  private readonly queue = new LaneQueue<W>({ maxMachines: 1, maxBytes: Infinity });
  private readonly inCall = new Map<string, W>();

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
  waitingRequests(): Iterable<W> {
    return this.queue.allWaiting();
  }

  /** Returns the request that another answers: the older that waited, or this one if its version is being asked for. */
  add(request: W): W | undefined {
    const { machineId, version } = request;
    const asked = this.inCall.get(machineId);
    if (version !== undefined && asked?.version === version && asked.isLost !== true) {
      return request;
    }
    const [older] = this.queue.waitingOf(machineId);
    if (older === undefined) this.queue.enqueue(request);
    else this.queue.replaceAll(machineId, [inherit(request, older)]);
    return older;
  }

  /** Begins a GET for the order whose turn it is; undefined where none is ready. */
  take(nowMs: number): W | undefined {
    const [request] = this.queue.takeBatch(nowMs);
    if (request !== undefined) this.inCall.set(request.machineId, request);
    return request;
  }

  /** The GET for the request has an answer; one that came meanwhile is ready for the next. */
  answered({ machineId }: W): void {
    if (this.inCall.delete(machineId)) this.queue.releaseMachine(machineId, 'unknown');
  }

  /** The GET has to be made again, not before that time, for a newer request where one waits: returns whether so. */
  postpone(request: W, notBeforeMs: number): boolean {
    const { machineId } = request;
    this.inCall.delete(machineId);
    const [newer] = this.queue.waitingOf(machineId);
    if (newer === undefined) this.queue.putBack(request, 'unknown', notBeforeMs);
    else {
      inherit(newer, request);
      this.queue.releaseMachine(machineId, 'unknown', notBeforeMs);
    }
    return newer !== undefined;
  }

  /** Takes out what waits and is wanted no more. A GET under way goes on; its request is dropped as it ends. */
  drop(isDropped: (request: W) => boolean): W[] {
    return this.queue.removeWaiting(isDropped);
  }
}

/** Lets a newer request go on where an older one of its order was. */
function inherit<W extends Waiting>(newer: W, { failures, goneSinceMs }: W): W {
  return Object.assign(newer, { failures, goneSinceMs });
}

/** How long an answer may be used for a request of the same version. */
const KNOWN_MS = 300_000;
const MOST_ANSWERS = 1000;
const MOST_BYTES = 8 * 1024 * 1024;

/** An answer, the size it had, and when it came. */
export interface KnownAnswer<A> {
  version: string;
  answer: A;
  bytes: number;
  /** Real milliseconds, monotonic. */
  atMs: number;
}

/** The last answers by order and version, so that events of one change need one GET. Bounded. Pure. */
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
