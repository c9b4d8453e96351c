import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Clock, everyRealMs, realEpochMs, realNowMs } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import { groupBy, OrderMapping } from '#libs/erp-formats';
import type { OutboundRecord } from '#libs/kafka';
import type { Tracing } from '#libs/tracing';
import { CommandOutcomes, type CommandResult, notStored, rejection } from '../../delivery/index.js';
import { FlowControls, type FlowHold } from '../../flow-control/index.js';
import { BRIDGE_SETTINGS, TRACING } from '../../platform/index.js';
import { type HandleQueued, ORDER_REQUESTS, OrderQueues } from '../orders/order-queues.js';
import { OrderRelay } from '../orders/order-relay.js';
import { ErpRequests, type Orders, type Reply, type RuleStatus } from './erp-requests.js';
import { WaitingRequest } from './request-lanes.js';

const REVIEW_MS = 1000;
/** Time between two checks of the number of waiting requests. */
const MOVE_MS = 5000;
/** The most waiting requests of a partition. The oldest beyond it are written again, behind the others. */
const MOST_WAITING = 1000;

/**
 * `machine-bridge.order-requests.v1`: orders that input messages only name. Each is requested from its ERP by the rule
 * of its message, and relayed as if the message had contained it. Only these messages wait for an ERP.
 */
@Injectable()
export class OrderRequests implements OnModuleDestroy {
  private readonly logger = new Logger('Enrichment');
  private readonly hold: FlowHold;
  private readonly erps: ReadonlyMap<string, ErpRequests>;
  private readonly timers = [
    everyRealMs(REVIEW_MS, () => this.deferLate()),
    everyRealMs(MOVE_MS, () => this.moveOldest()),
  ];

  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    @Inject(TRACING) tracing: Tracing,
    controls: FlowControls,
    mapping: OrderMapping,
    clock: Clock,
    private readonly queues: OrderQueues,
    private readonly relay: OrderRelay,
    private readonly outcomes: CommandOutcomes,
  ) {
    const hold = (this.hold = controls.holdOf('work-orders'));
    const { all } = settings.erp.enrichment;
    const context = { settings, tracing, hold, mapping, clock };
    this.erps = new Map(
      all.map((rule) => [rule.name, new ErpRequests(rule, context, this.handleReply)]),
    );
  }

  statuses(): RuleStatus[] {
    return [...this.erps.values()].map((erp) => erp.status(realNowMs()));
  }

  async onModuleDestroy(): Promise<void> {
    for (const stop of this.timers) stop();
    await Promise.all([...this.erps.values()].map((erp) => erp.closeClient()));
  }

  readonly acceptRequest: HandleQueued<typeof ORDER_REQUESTS> = (message, request, ending) => {
    if (message.revoked.aborted) {
      message.abandon();
      return;
    }
    // The request may have waited in the queue.
    const sinceMs = realNowMs() - Math.max(0, realEpochMs() - request.receivedAt);
    const waiting = new WaitingRequest(request, message, ending, sinceMs);
    const erp = this.erps.get(request.rule);
    if (erp === undefined) {
      const detail = `no enrichment rule is named ${request.rule} any more`;
      this.finishRequest(waiting, [rejection({ code: 'invalid-message', detail })]);
      return;
    }
    message.revoked.addEventListener('abort', this.dropLost);
    erp.requestOrder(waiting);
  };

  /** The same function for all messages: a signal drops a listener that is already registered. */
  private readonly dropLost = (): void => {
    for (const erp of this.erps.values()) erp.dropLost();
  };

  private readonly handleReply = (waiting: WaitingRequest, reply: Reply): void => {
    const { message } = waiting;
    if (reply.kind !== 'orders') this.finishRequest(waiting, [reply]);
    else void this.relayAnswer(waiting, reply).catch((error: unknown) => message.fail(error, true));
  };

  /** Relays the order to the ledger as if the message had contained it. */
  private async relayAnswer(
    waiting: WaitingRequest,
    { messages, askedAt, gone }: Orders,
  ): Promise<void> {
    const { message, request, ending } = waiting;
    const { source, trace } = request;
    const unlisted = await this.relay.refuseUnlisted(messages, message.revoked);
    const from = { source, trace, askedAt, gone, recordedAt: askedAt };
    const { relayed, faults } = this.relay.relayOrders(messages, from, unlisted);
    // If neither of the two possible ids of an absent order is known, only one of them is answered.
    const orders = relayed.map((order) =>
      gone === undefined || order.orderId === request.orderId
        ? order
        : { ...order, isAnswered: true },
    );
    const records = [
      ...this.relay.relayRecords(orders),
      ...this.outcomesOf(waiting, faults),
      ...ending,
    ];
    message.finish(records, (refusal) => [
      ...this.outcomesOf(waiting, [notStored(refusal)]),
      ...ending,
    ]);
  }

  private finishRequest(waiting: WaitingRequest, results: readonly CommandResult[]): void {
    const { message, ending } = waiting;
    message.finish([...this.outcomesOf(waiting, results), ...ending]);
  }

  private outcomesOf(
    waiting: WaitingRequest,
    results: readonly CommandResult[],
  ): readonly OutboundRecord[] {
    const target = this.queues.outcomeTarget(waiting.message, waiting.request);
    return this.outcomes.resultRecords(target, results);
  }

  private deferLate(): void {
    const sinceMs = realNowMs() - this.settings.outcomeDeferredAfterSeconds * 1000;
    for (const [rule, erp] of this.erps) {
      for (const waiting of erp.lanes.waitingRequests()) {
        if (waiting.isDeferred || waiting.sinceMs > sinceMs) continue;
        waiting.isDeferred = true;
        const detail = `waits for the ERP (${rule})`;
        const { message, request, calls } = waiting;
        const target = this.queues.outcomeTarget(message, request);
        this.outcomes.publishDeferred(target, { machineId: null, callsMade: calls }, detail);
      }
    }
  }

  /** Writes the oldest requests of a partition again if too many wait. Requests have no order between them. */
  private moveOldest(): void {
    if (this.hold.isHeld) return;
    const erps = [...this.erps.values()];
    const waiting = erps.flatMap(({ lanes }) => [...lanes.waitingRequests()]);
    for (const [partition, all] of groupBy(waiting, ({ message }) => message.partition)) {
      if (all.length <= MOST_WAITING) continue;
      const byOffset = all.sort((one, other) => one.message.offset - other.message.offset);
      const moved = new Set(byOffset.slice(0, all.length - MOST_WAITING));
      this.logger.log({ msg: 'order requests written again', partition, count: moved.size });
      for (const { lanes } of erps) {
        for (const each of lanes.removeRequests((other) => moved.has(other))) this.writeAgain(each);
      }
    }
  }

  private writeAgain({ message, request, ending, calls, isDeferred }: WaitingRequest): void {
    const again = { ...request, calls, isDeferred };
    message.finish([
      this.queues.queueRecord(ORDER_REQUESTS, message.partition, again, request.trace),
      ...ending,
    ]);
  }
}
