import { Logger } from '@nestjs/common';
import { type Clock, realNowMs, WakeTimer } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import { type OrderMessage, printable, type RejectionCode } from '#libs/contracts';
import { backOffMs } from '#libs/delivery';
import { type ErpAnswer, ErpClient } from '#libs/erp-client';
import { type EnrichmentRule, type OrderMapping, readOrders } from '#libs/erp-formats';
import { traceHeaders, type Tracing } from '#libs/tracing';
import {
  Breaker,
  type CommandResult,
  type RejectedResult,
  RETRY_BACK_OFF,
  type RetryCause,
} from '../../delivery/index.js';
import type { FlowHold } from '../../flow-control/index.js';
import { KnownAnswers, RequestLanes, type WaitingRequest } from './request-lanes.js';

export interface Orders {
  kind: 'orders';
  messages: readonly OrderMessage[];
  /** Epoch milliseconds at which the GET began. */
  askedAt: number;
  /** Why the ERP is known not to have the order. */
  gone?: string;
}

/** The result of a request: its order goes on, or its message is answered. */
export type Reply = Orders | CommandResult;

/** Results of GETs, as metrics name them. */
export const REQUEST_RESULTS = ['document', 'gone', 'refused', 'retry', 'unauthorised'] as const;
type RequestResult = (typeof REQUEST_RESULTS)[number];

export interface RuleStatus {
  rule: string;
  results: Readonly<Record<RequestResult, number>>;
  /** Requests answered by an earlier answer. */
  known: number;
  waitingOrders: number;
  oldestAgeMs: number;
  /** Undefined while GETs get through or no request waits. */
  pausedBecause: string | undefined;
  lastFailure: { why: string; atMs: number } | undefined;
}

interface ErpContext {
  settings: BridgeSettings;
  tracing: Tracing;
  hold: FlowHold;
  mapping: OrderMapping;
  clock: Clock;
}

interface Call {
  waiting: WaitingRequest;
  path: string;
  isProbe: boolean;
  /** Real milliseconds. */
  begunMs: number;
  /** When the GET began, in epoch milliseconds of the clock. */
  askedAt: number;
}

/** Between two checks whether the ERP still does not have an order. */
const GONE_AGAIN_MS = 1000;
/** The most orders requested to test the path; some of them may be gone themselves. */
const MOST_CONTROLS = 5;
const SUPERSEDED = 'a later event of the order is asked for in its place';
const CONTAINED = 'the order is being asked for in the same version';

/** Requests orders from one ERP by one rule. Pauses and probes like a flow; a `Retry-After` holds for all requests. */
export class ErpRequests {
  readonly lanes = new RequestLanes<WaitingRequest>();
  private readonly logger = new Logger('Enrichment');
  private readonly knownAnswers = new KnownAnswers<Orders>();
  private readonly breaker = new Breaker();
  private readonly client: ErpClient;
  private readonly results: Record<RequestResult, number> = {
    ...{ document: 0, gone: 0, refused: 0, retry: 0, unauthorised: 0 },
  };
  private knownUsed = 0;
  private lastFailure: RuleStatus['lastFailure'];
  /** Real milliseconds of the latest failure while the breaker was open. */
  private lastOutageMs = -Infinity;
  /** Real milliseconds before which no request may be made, by the ERP's `Retry-After`. */
  private notBeforeMs = 0;
  /** Paths of orders that the ERP had, the latest first: they show whether a 404 concerns the order or the path. */
  private foundPaths: readonly string[] = [];
  private readonly timer = new WakeTimer(() => this.beginGets());

  constructor(
    private readonly rule: EnrichmentRule,
    private readonly context: ErpContext,
    private readonly reply: (waiting: WaitingRequest, reply: Reply) => void,
  ) {
    const { settings, hold } = context;
    this.client = new ErpClient(rule, settings);
    hold.onRelease(() => this.beginGets());
  }

  requestOrder(waiting: WaitingRequest): void {
    const known = this.knownAnswers.get(waiting.machineId, waiting.version, realNowMs());
    if (known !== undefined) {
      this.knownUsed += 1;
      this.reply(waiting, known);
      return;
    }
    const other = this.lanes.addRequest(waiting);
    if (other !== undefined) this.supersede(other, other === waiting ? CONTAINED : SUPERSEDED);
    this.beginGets();
  }

  dropLost(): void {
    for (const lost of this.lanes.removeRequests((each) => each.isLost)) lost.message.abandon();
  }

  status(nowMs: number): RuleStatus {
    const { rule, results, knownUsed, lanes, lastFailure } = this;
    let oldestMs = nowMs;
    for (const { sinceMs } of lanes.waitingRequests()) oldestMs = Math.min(oldestMs, sinceMs);
    const waitingOrders = lanes.waitingOrders;
    const isBusy = waitingOrders + lanes.callsUnderWay > 0;
    const pausedBecause = isBusy ? this.breaker.openBecause : undefined;
    const oldestAgeMs = nowMs - oldestMs;
    const ofRule = { rule: rule.name, results, known: knownUsed, lastFailure };
    return { ...ofRule, waitingOrders, oldestAgeMs, pausedBecause };
  }

  async closeClient(): Promise<void> {
    // No GET begins any more.
    this.notBeforeMs = Infinity;
    await this.client.closeConnections();
  }

  private supersede(waiting: WaitingRequest, detail: string): void {
    const attempts = waiting.calls;
    this.reply(waiting, { kind: 'superseded', machineId: null, attempts, detail });
  }

  /** Begins as many GETs as are allowed, and sets the timer for the next. */
  private beginGets(): void {
    const { lanes, breaker, rule } = this;
    const { isHeld } = this.context.hold;
    const nowMs = realNowMs();
    const mayBegin = !isHeld && nowMs >= this.notBeforeMs;
    while (mayBegin && lanes.callsUnderWay < rule.concurrency && breaker.admitsCallAt(nowMs)) {
      const waiting = lanes.beginNext(nowMs);
      if (waiting === undefined) break;
      void this.callErp(waiting, breaker.beginCall());
    }
    // The end of a GET and the release of the hold call this again.
    if (isHeld || lanes.callsUnderWay >= rule.concurrency) return;
    if (breaker.isOpen && breaker.nextProbeMs === undefined) return;
    const dueMs = lanes.nextDueMs(nowMs);
    this.timer.wakeAt(Math.max(dueMs, this.notBeforeMs, breaker.nextProbeMs ?? 0));
  }

  private async callErp(waiting: WaitingRequest, isProbe: boolean): Promise<void> {
    const { message, request } = waiting;
    const begunMs = realNowMs();
    const askedAt = Math.floor(this.context.clock.nowMs());
    const path = this.client.pathOf(request.values);
    waiting.calls += 1;
    try {
      const answer = await this.getOrder(path, waiting);
      this.results[answer.kind] += 1;
      await this.handleAnswer({ waiting, path, isProbe, begunMs, askedAt }, answer);
    } catch (error) {
      if (isProbe) this.breaker.voidProbe();
      this.lanes.endGet(waiting);
      if (message.revoked.aborted) message.abandon();
      // A bug of the bridge: the order is requested again, and the message dead-lettered if that does not help.
      else message.fail(error);
    }
    this.beginGets();
  }

  private async getOrder(path: string, { message }: WaitingRequest): Promise<ErpAnswer> {
    const { origin } = this.client;
    const route = this.rule.url.slice(origin.length).split('?', 1)[0] ?? '';
    const span = this.context.tracing.requestStarts(
      { operation: 'getErpOrder', method: 'GET', route, path, origin },
      [message.span],
    );
    let status: number | string = 'aborted';
    try {
      const answer = await this.client.getDocument(
        path,
        message.revoked,
        traceHeaders(span.context),
      );
      status = statusOf(answer);
      return answer;
    } finally {
      span.endSpan(status);
    }
  }

  private async handleAnswer(call: Call, answer: ErpAnswer): Promise<void> {
    const { waiting, path } = call;
    switch (answer.kind) {
      case 'document': {
        this.recordUp(call);
        const reply = await this.readDocument(call, answer);
        if (reply.kind === 'orders') {
          const others = this.foundPaths.filter((other) => other !== path);
          this.foundPaths = [path, ...others.slice(0, MOST_CONTROLS - 1)];
        }
        this.endRequest(waiting, reply, answer.body.length);
        return;
      }
      case 'gone':
        await this.handleGone(call, answer.status);
        return;
      case 'refused': {
        this.recordUp(call);
        const { code: found, status, why } = answer;
        const code = found === 'status' ? 'rejected-by-service' : found;
        const rejected = this.toRejected(waiting, code, why);
        this.endRequest(waiting, status === 200 ? rejected : { ...rejected, httpStatus: status });
        return;
      }
      case 'unauthorised':
        waiting.goneSinceMs = undefined;
        this.retryLater(call, answer.why, answer.status === 401 ? 'token-refused' : 'forbidden');
        return;
      case 'retry':
        // An ERP that asks for fewer requests is up.
        if (answer.status !== 429) waiting.goneSinceMs = undefined;
        this.retryLater(call, answer.why, 'service', answer.afterMs ?? 0);
        return;
      default:
        answer satisfies never;
    }
  }

  private toRejected({ calls }: WaitingRequest, code: RejectionCode, why: string): RejectedResult {
    const rejection = { code, detail: this.detail(why) };
    return { kind: 'rejected', machineId: null, attempts: calls, rejection };
  }

  private detail(why: string): string {
    return printable(`enrichment ${this.rule.name}: ${why}`);
  }

  private recordUp({ begunMs }: Call): void {
    if (this.breaker.recordSuccess(begunMs)) {
      this.logger.log({ msg: 'enrichment moves again', rule: this.rule.name });
    }
  }

  private endRequest(waiting: WaitingRequest, reply: Reply, bytes = 0): void {
    const { machineId: orderId, version } = waiting;
    // An absent order may only have been requested too early.
    if (reply.kind === 'orders' && reply.gone === undefined && version !== undefined) {
      this.knownAnswers.set(orderId, { version, answer: reply, bytes, atMs: realNowMs() });
    } else this.knownAnswers.delete(orderId);
    this.lanes.endGet(waiting);
    this.reply(waiting, reply);
  }

  private async readDocument(
    { waiting, askedAt }: Call,
    { contentType, body }: Extract<ErpAnswer, { kind: 'document' }>,
  ): Promise<Reply> {
    const { settings, mapping, clock } = this.context;
    const { orderId } = waiting.request;
    const document = {
      contentType: this.rule.contentType ?? contentType,
      body,
      recordedAt: Math.floor(askedAt / 1000),
    };
    const read = await readOrders(document, settings.erp, mapping, clock.nowSeconds());
    if (!read.ok) {
      const { code, detail } = read.rejection;
      return this.toRejected(waiting, code, `in the answer, ${detail}`);
    }
    const messages = read.value.filter(({ order }) => this.isOf(orderId, order.orderId));
    if (messages.length > 0) return { kind: 'orders', messages, askedAt };
    const other = read.value[0]?.order.orderId ?? 'none';
    const why = `the answer holds order ${other}, and not ${orderId}`;
    return this.toRejected(waiting, 'invalid-message', why);
  }

  private isOf(orderId: string, found: string): boolean {
    if (found === orderId) return true;
    return !this.rule.keepLeadingZeros && found.replace(/^0+(?=\d+$)/, '') === orderId;
  }

  /**
   * The ERP does not have the order. Except for a 410, that counts once it has been so for `goneAfterSeconds`. A 404
   * counts only if the ERP still has another order, and after that still not this one: a wrong address, or a gateway
   * while the ERP restarts, answers everything with 404, and must not take orders off the machines.
   */
  private async handleGone(call: Call, status: 404 | 410 | 204 | 200): Promise<void> {
    const { waiting, path, askedAt } = call;
    const nowMs = realNowMs();
    // A restarting ERP or gateway may answer as if it had no orders.
    if ((waiting.goneSinceMs ?? -Infinity) <= this.lastOutageMs) waiting.goneSinceMs = undefined;
    waiting.goneSinceMs ??= nowMs;
    const leftMs = waiting.goneSinceMs + this.rule.goneAfterSeconds * 1000 - nowMs;
    if (status !== 410 && leftMs > 0) {
      if (call.isProbe) this.breaker.voidProbe();
      this.postponeRequest(waiting, nowMs + Math.min(leftMs, GONE_AGAIN_MS));
      return;
    }
    if (status === 404) {
      if (!(await this.hasOtherOrder(waiting, path))) {
        const why = 'the ERP answers 404, and has had no other order since: the url may be wrong';
        this.retryLater(call, why, 'service');
        return;
      }
      const again = await this.getOrder(path, waiting);
      if (again.kind !== 'gone') {
        await this.handleAnswer(call, again);
        return;
      }
    }
    this.recordUp(call);
    const changedAt = Math.floor(askedAt / 1000);
    const { orderId, values } = waiting.request;
    const said = status === 404 || status === 410 ? `answered ${status}` : 'answered without it';
    // An answer with leading zeros has put the order on its machines under the id that the event has.
    const number = this.rule.answerOrderId === undefined ? values['orderId'] : undefined;
    const orderIds = new Set([orderId, number ?? orderId]);
    this.endRequest(waiting, {
      ...{ kind: 'orders', askedAt },
      messages: [...orderIds].map((each) => {
        return { kind: 'change', order: { orderId: each, changedAt, status: 'cancelled' } };
      }),
      gone: this.detail(`the ERP does not have order ${orderId}: it ${said}`),
    });
  }

  private async hasOtherOrder(waiting: WaitingRequest, ownPath: string): Promise<boolean> {
    for (const path of this.foundPaths) {
      if (path === ownPath) continue;
      const answer = await this.getOrder(path, waiting);
      if (answer.kind === 'document') return true;
    }
    return false;
  }

  /** @param afterMs real milliseconds without requests, as the ERP asks */
  private retryLater(
    { waiting, isProbe }: Call,
    saidWhy: string,
    cause: RetryCause,
    afterMs = 0,
  ): void {
    const { lanes, rule } = this;
    const nowMs = realNowMs();
    const why = this.detail(saidWhy);
    this.lastFailure = { why, atMs: nowMs };
    if (afterMs > 0) this.notBeforeMs = Math.max(this.notBeforeMs, nowMs + afterMs);
    const busyMachines = lanes.waitingOrders + lanes.callsUnderWay;
    const failure = { busyMachines, isShared: false, isProbe, cause, why, retryAfterMs: afterMs };
    if (this.breaker.recordFailure({ ...failure, machineId: waiting.machineId }, nowMs)) {
      this.logger.warn({ msg: 'enrichment paused, probing', rule: rule.name, why: saidWhy, cause });
    }
    if (this.breaker.isOpen) this.lastOutageMs = nowMs;
    waiting.failures += 1;
    this.postponeRequest(
      waiting,
      nowMs + Math.max(afterMs, backOffMs(waiting.failures, RETRY_BACK_OFF), 1),
    );
  }

  private postponeRequest(waiting: WaitingRequest, notBeforeMs: number): void {
    if (this.lanes.postponeGet(waiting, notBeforeMs)) this.supersede(waiting, SUPERSEDED);
    else if (waiting.isLost) this.dropLost();
  }
}

function statusOf(answer: ErpAnswer): number | string {
  return answer.kind === 'document' ? 200 : (answer.status ?? 'network');
}
