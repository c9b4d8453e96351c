import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Clock, everyRealMs, realEpochMs, realNowMs } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import { OrderMapping } from '#libs/erp-formats';
import type { InboundMessage } from '#libs/kafka';
import type { Tracing } from '#libs/tracing';
import { CommandOutcomes, type CommandResult, notTaken, rejection } from '../../delivery/index.js';
import { FlowControls } from '../../flow-control/index.js';
import { BRIDGE_SETTINGS, TRACING } from '../../platform/index.js';
import { OrderPartitioner } from '../orders/order-partitioner.js';
import { OrderRelay } from '../orders/order-relay.js';
import { QueueRetention } from '../orders/queue-retention.js';
import { answeredBy, ORDER_REQUESTS, type OrderRequest, queueRecord } from '../orders/queues.js';
import { ErpRequests, type Reply, type RuleStatus, WaitingRequest } from './erp-requests.js';

const REVIEW_MS = 1000;
/** Reviews between two looks at how much waits. */
const REVIEWS_A_MOVE = 5;
/**
 * Requests of a partition that may wait here; a partition hands over 5,000 at most. What waits longest is written again
 * behind the others, so that the orders of an ERP that answers do not wait for one that does not.
 */
const MOST_WAITING = 1000;

/**
 * `machine-bridge.order-requests.v1`: orders that messages of the input only name. Each is asked for from its ERP, by
 * the rule that is for the message, and goes on as if the message had held it. Only these messages wait for an ERP:
 * what holds its order does not come here.
 */
@Injectable()
export class OrderRequests implements OnModuleDestroy {
  private readonly logger = new Logger('Enrichment');
  private readonly topicPrefix: string;
  private readonly deferredAfterMs: number;
  private readonly erps: ReadonlyMap<string, ErpRequests>;
  private reviews = 0;
  private readonly stopReviews: () => void;

  constructor(
    @Inject(BRIDGE_SETTINGS) settings: BridgeSettings,
    @Inject(TRACING) tracing: Tracing,
    controls: FlowControls,
    mapping: OrderMapping,
    private readonly clock: Clock,
    private readonly partitioner: OrderPartitioner,
    private readonly relay: OrderRelay,
    private readonly outcomes: CommandOutcomes,
    private readonly retention: QueueRetention,
  ) {
    this.topicPrefix = settings.kafka.topicPrefix;
    this.deferredAfterMs = settings.outcomeDeferredAfterSeconds * 1000;
    const hold = controls.holdOf('work-orders');
    const { all } = settings.erp.enrichment;
    this.erps = new Map(
      all.map((rule) => {
        const surroundings = { settings, tracing, hold, mapping, clock };
        const erp = new ErpRequests(rule, surroundings, (waiting, reply) => {
          this.reply(waiting, reply);
        });
        return [rule.name, erp];
      }),
    );
    this.stopReviews = everyRealMs(REVIEW_MS, () => {
      this.review();
    });
  }

  /** Of each rule, for metrics and health. */
  statuses(): RuleStatus[] {
    return [...this.erps.values()].map((erp) => erp.status(realNowMs()));
  }

  async onModuleDestroy(): Promise<void> {
    this.stopReviews();
    await Promise.all([...this.erps.values()].map((erp) => erp.close()));
  }

  take(message: InboundMessage, request: OrderRequest): void {
    if (message.revoked.aborted) {
      message.abandon();
      return;
    }
    const waiting = new WaitingRequest(request, message, this.sinceMs(request));
    const erp = this.erps.get(request.rule);
    if (erp === undefined) {
      const detail = `no enrichment rule is named ${request.rule} any more`;
      this.end(waiting, [rejection({ code: 'invalid-message', detail })]);
      return;
    }
    message.revoked.addEventListener('abort', this.dropLost);
    erp.add(waiting);
  }

  /** One function for all messages: a signal knows its listeners by identity. */
  private readonly dropLost = (): void => {
    for (const erp of this.erps.values()) erp.dropLost();
  };

  /** It may have waited in the queue. */
  private sinceMs({ receivedAt }: OrderRequest): number {
    return realNowMs() - Math.max(0, realEpochMs() - receivedAt);
  }

  private reply(waiting: WaitingRequest, reply: Reply): void {
    switch (reply.kind) {
      case 'orders':
        void this.goOn(waiting, reply).catch((error: unknown) => {
          waiting.message.fail(error, true);
        });
        return;
      case 'superseded':
        this.end(waiting, [
          { kind: 'superseded', machineId: null, attempts: waiting.calls, detail: reply.detail },
        ]);
        return;
      case 'rejected': {
        const { code, detail, httpStatus } = reply;
        const fault = { kind: 'rejected', machineId: null, attempts: waiting.calls } as const;
        const status = httpStatus === undefined ? {} : { httpStatus };
        this.end(waiting, [{ ...fault, rejection: { code, detail }, ...status }]);
        return;
      }
      case 'lost':
        waiting.message.abandon();
        return;
      default:
        reply satisfies never;
    }
  }

  /** The order goes to the ledger, as if the message had held it. */
  private async goOn(
    waiting: WaitingRequest,
    { messages, askedAt, gone }: Extract<Reply, { kind: 'orders' }>,
  ): Promise<void> {
    const { message, request } = waiting;
    const { source, trace } = request;
    const { ofOrder } = await this.partitioner.known(message.revoked);
    const machineIds = this.relay.machinesOf(messages);
    const unknown = await this.relay.refuseUnlisted(machineIds, message.revoked);
    const from = { source, trace, askedAt, recordedAt: askedAt };
    const { relayed, faults } = this.relay.toRelay(messages, from, unknown);
    const orders =
      gone === undefined
        ? relayed
        : relayed.map((order) => {
            // of the numbers that it may be known by, one is answered for where it is known by none
            const isAnswered = order.orderId === request.orderId ? undefined : true;
            return { ...order, gone, isAnswered };
          });
    const answered = answeredBy(this.topicPrefix, message, request);
    const ending = this.retention.endOf(message);
    const records = [
      ...this.relay.recordsOf(orders, ofOrder),
      ...(faults.length > 0 ? this.outcomes.recordsOf('work-order-list', answered, faults) : []),
      ...ending,
    ];
    message.finish(records, (refusal) => [
      ...this.outcomes.recordsOf('work-order-list', answered, [notTaken(refusal)]),
      ...ending,
    ]);
  }

  private end({ message, request }: WaitingRequest, results: readonly CommandResult[]): void {
    const answered = answeredBy(this.topicPrefix, message, request);
    const records = this.outcomes.recordsOf('work-order-list', answered, results);
    message.finish([...records, ...this.retention.endOf(message)]);
  }

  private review(): void {
    const nowMs = realNowMs();
    for (const erp of this.erps.values()) {
      for (const waiting of erp.waitingRequests()) {
        if (!waiting.isDeferred && nowMs - waiting.sinceMs >= this.deferredAfterMs) {
          this.defer(waiting);
        }
      }
    }
    this.reviews += 1;
    if (this.reviews % REVIEWS_A_MOVE === 0) this.letOthersGoFirst();
  }

  private defer(waiting: WaitingRequest): void {
    const { message, request, calls } = waiting;
    waiting.isDeferred = true;
    const answered = answeredBy(this.topicPrefix, message, request);
    this.outcomes.publishOrderDeferred(answered, calls, `waits for the ERP (${request.rule})`);
  }

  /** Writes again what waits longest in a partition of which too much waits. Order does not matter between requests. */
  private letOthersGoFirst(): void {
    const byPartition = new Map<number, WaitingRequest[]>();
    for (const erp of this.erps.values()) {
      if (erp.isHeld) return;
      for (const waiting of erp.waitingRequests()) {
        const { partition } = waiting.message;
        const all = byPartition.get(partition);
        if (all === undefined) byPartition.set(partition, [waiting]);
        else all.push(waiting);
      }
    }
    for (const [partition, all] of byPartition) {
      if (all.length <= MOST_WAITING) continue;
      const byOffset = all.sort((one, other) => one.message.offset - other.message.offset);
      const moved = new Set(byOffset.slice(0, all.length - MOST_WAITING));
      this.logger.log({ msg: 'order requests written again', partition, count: moved.size });
      for (const erp of this.erps.values()) {
        for (const waiting of erp.takeOut((each) => moved.has(each))) this.writeAgain(waiting);
      }
    }
  }

  private writeAgain({ message, request, calls, isDeferred }: WaitingRequest): void {
    const again = { ...request, calls, isDeferred };
    const { topicPrefix } = this;
    const { trace } = request;
    message.finish([
      queueRecord(topicPrefix, ORDER_REQUESTS, message.partition, again, trace),
      ...this.retention.endOf(message),
    ]);
  }
}
