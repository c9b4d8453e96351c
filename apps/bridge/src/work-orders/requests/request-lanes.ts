import type { InboundMessage, OutboundRecord } from '#libs/kafka';
import { LaneQueue } from '../../delivery/index.js';
import type { OrderRequest } from '../orders/order-queues.js';

/** A request that waits for the answer to a GET, in the lane of its order. */
export class WaitingRequest {
  /** The order's id. */
  readonly machineId: string;
  /** Two requests of the same version need one answer; undefined if events have no version. */
  readonly version: string | undefined;
  /** GETs for the order that have failed in a row. */
  failures = 0;
  /** Real milliseconds of the first answer, in a row of them, that the ERP does not have the order. */
  goneSinceMs: number | undefined;
  calls: number;
  isDeferred: boolean;

  /** @param sinceMs real milliseconds at which the input message was received */
  constructor(
    readonly request: OrderRequest,
    readonly message: InboundMessage,
    readonly ending: readonly OutboundRecord[],
    readonly sinceMs: number,
  ) {
    this.machineId = request.orderId;
    this.version = request.version;
    this.calls = request.calls ?? 0;
    this.isDeferred = request.isDeferred === true;
  }

  /** Its partition was revoked; its answer is not used. */
  get isLost(): boolean {
    return this.message.revoked.aborted;
  }
}

export type LaneRequest = Pick<
  WaitingRequest,
  'machineId' | 'version' | 'failures' | 'goneSinceMs' | 'isLost'
>;

/**
 * The orders to request from an ERP, each in its own lane with at most one GET under way. Pure: times are handed in.
 *
 * A request that arrives while a GET is under way waits for the next one: the GET may have been answered before the
 * change that the request announces. Of several that wait the newest remains: one answer has the changes of all.
 */
export class RequestLanes<W extends LaneRequest> {
  private readonly queue = new LaneQueue<W>({ maxMachines: 1, maxBytes: Infinity });
  private readonly inCall = new Map<string, W>();

  /** Orders that wait, without those with a GET under way. */
  get waitingOrders(): number {
    return this.queue.busyMachines - this.callsUnderWay;
  }

  get callsUnderWay(): number {
    return this.inCall.size;
  }

  /** Real milliseconds at which the next GET may begin; Infinity if no order waits. */
  nextDueMs(nowMs: number): number {
    return this.queue.nextDueMs(nowMs);
  }

  waitingRequests(): Iterable<W> {
    return this.queue.allWaiting();
  }

  /** Returns the request made unnecessary: the older waiting one, or this one if its version is being requested. */
  addRequest(request: W): W | undefined {
    const { machineId, version } = request;
    const asked = this.inCall.get(machineId);
    if (version !== undefined && asked?.version === version && !asked.isLost) return request;
    const [older] = this.queue.waitingOf(machineId);
    if (older === undefined) this.queue.enqueue(request);
    else this.queue.replaceAll(machineId, [inherit(request, older)]);
    return older;
  }

  /** Begins a GET for the next order; undefined if none is ready. */
  beginNext(nowMs: number): W | undefined {
    const [request] = this.queue.takeBatch(nowMs);
    if (request !== undefined) this.inCall.set(request.machineId, request);
    return request;
  }

  /** Ends the GET for the request; a request that came meanwhile is ready for the next. */
  endGet({ machineId }: W): void {
    if (this.inCall.delete(machineId)) this.queue.releaseMachine(machineId, 'unknown');
  }

  /** Postpones the GET until `notBeforeMs`. Returns whether a newer request of the order waits, which replaces it. */
  postponeGet(request: W, notBeforeMs: number): boolean {
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

  /** Removes and returns waiting requests. A GET under way continues; its request is dropped when it ends. */
  removeRequests(isDropped: (request: W) => boolean): W[] {
    return this.queue.removeWaiting(isDropped);
  }
}

/** Gives a newer request the failures of an older one of its order. */
function inherit<W extends LaneRequest>(newer: W, { failures, goneSinceMs }: W): W {
  return Object.assign(newer, { failures, goneSinceMs });
}

/** How long an answer may be used for a request of the same version. */
const KNOWN_MS = 300_000;
const MOST_ANSWERS = 1000;
const MOST_BYTES = 8 * 1024 * 1024;

/** An answer, its size, and when it came. */
interface KnownAnswer<A> {
  version: string;
  answer: A;
  bytes: number;
  /** Real milliseconds, monotonic. */
  atMs: number;
}

/** The latest answers by order and version, so that events of one change need one GET. Bounded. Pure. */
export class KnownAnswers<A> {
  private readonly answers = new Map<string, KnownAnswer<A>>();
  private bytes = 0;

  get(key: string, version: string | undefined, nowMs: number): A | undefined {
    const known = this.answers.get(key);
    if (known === undefined || version === undefined || known.version !== version) return undefined;
    if (nowMs - known.atMs <= KNOWN_MS) return known.answer;
    this.delete(key);
    return undefined;
  }

  set(key: string, known: KnownAnswer<A>): void {
    this.delete(key);
    if (known.bytes > MOST_BYTES) return;
    this.answers.set(key, known);
    this.bytes += known.bytes;
    for (const oldest of this.answers.keys()) {
      if (this.answers.size <= MOST_ANSWERS && this.bytes <= MOST_BYTES) break;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    this.bytes -= this.answers.get(key)?.bytes ?? 0;
    this.answers.delete(key);
  }
}
