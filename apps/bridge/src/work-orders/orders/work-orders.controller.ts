import { Controller, Inject } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { Clock, realEpochMs } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import {
  type Envelope,
  openMessage,
  type OrderMessage,
  type Parsed,
  type Rejection,
  TOPICS,
} from '#libs/contracts';
import {
  type OrderDocument,
  OrderMapping,
  readOrders,
  sourceTopicOf,
  type ThinEvent,
} from '#libs/erp-formats';
import type { InboundMessage, OutboundRecord } from '#libs/kafka';
import {
  type AnsweredMessage,
  CommandOutcomes,
  type CommandResult,
  notTaken,
  rejection,
} from '../../delivery/index.js';
import { BRIDGE_SETTINGS } from '../../platform/index.js';
import { ORDER_REQUESTS, queueRecord, type RelayedOrder } from './queues.js';
import { type Partitioner, OrderPartitioner } from './order-partitioner.js';
import { OrderRelay, type Unknown } from './order-relay.js';

/** A message of the input, and the orders in it, or the order that an ERP is to be asked for. */
interface ReadMessage {
  answered: AnsweredMessage;
  orders: readonly OrderMessage[];
  thin?: ThinEvent;
}

/**
 * `erp.work-orders.v1`: orders as they change, in the ERP's own format. What can be refused of a document is refused
 * here, and dead-lettered; each of its orders goes on to the partition of its id, in the same transaction. So does what
 * only names an order, to where the ERP is asked for it.
 */
@Controller()
export class WorkOrdersController {
  private readonly topicPrefix: string;

  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    private readonly clock: Clock,
    private readonly mapping: OrderMapping,
    private readonly orderRelay: OrderRelay,
    private readonly partitioner: OrderPartitioner,
    private readonly outcomes: CommandOutcomes,
  ) {
    this.topicPrefix = settings.kafka.topicPrefix;
  }

  /** Resolves once what ends the messages is to be committed: those behind them must not overtake them. */
  @EventPattern(TOPICS.workOrders)
  async handle(messages: readonly InboundMessage[]): Promise<void> {
    const read: ReadMessage[] = [];
    for (const message of messages) {
      if (message.revoked.aborted) {
        // a document may take seconds, and its next owner reads it anew
        message.abandon();
        continue;
      }
      try {
        const document = this.read(message);
        // to wait for what is there already would cost as much as to read it
        const there = document instanceof Promise ? await document : document;
        if (there !== undefined) read.push(there);
      } catch (error) {
        message.fail(error);
      }
    }
    const [first] = read;
    if (first === undefined) return;
    const { revoked } = first.answered.message;
    const { ofOrder } = await this.partitioner.known(revoked);
    const machineIds = this.orderRelay.machinesOf(read.flatMap(({ orders }) => orders));
    const unknown = await this.orderRelay.refuseUnlisted(machineIds, revoked);
    this.relay(read, ofOrder, unknown);
  }

  private read(
    message: InboundMessage,
  ): ReadMessage | undefined | Promise<ReadMessage | undefined> {
    const { messageId, envelope } = openMessage(message);
    const answered = { message, messageId };
    if (!envelope.ok) return this.refused(answered, envelope.rejection);
    const thin = this.settings.erp.enrichment.find(message, envelope.value);
    if (thin !== undefined) {
      return thin.ok
        ? { answered, orders: [], thin: thin.value }
        : this.refused(answered, thin.rejection);
    }
    const document = documentOf(message, envelope.value);
    const orders = readOrders(document, this.settings.erp, this.mapping, this.clock.nowSeconds());
    return orders instanceof Promise
      ? orders.then((read) => this.asRead(answered, read))
      : this.asRead(answered, orders);
  }

  /** Undefined where it is refused, which is answered here. */
  private asRead(
    answered: AnsweredMessage,
    orders: Parsed<OrderMessage[]>,
  ): ReadMessage | undefined {
    return orders.ok
      ? { answered, orders: orders.value }
      : this.refused(answered, orders.rejection);
  }

  private refused(answered: AnsweredMessage, reason: Rejection): ReadMessage | undefined {
    answered.message.finish(this.outcomesOf(answered, [rejection(reason)]));
    return undefined;
  }

  /** Ends messages with records of their orders, and with what is refused of them. */
  private relay(read: readonly ReadMessage[], ofOrder: Partitioner, unknown: Unknown): void {
    const allRelayed: RelayedOrder[] = [];
    const records: OutboundRecord[] = [];
    for (const each of read) {
      if (each.thin !== undefined) {
        records.push(this.requestOf(each.answered, each.thin, ofOrder));
        continue;
      }
      const { relayed, faults } = this.toRelay(each, unknown);
      allRelayed.push(...relayed);
      if (faults.length > 0) records.push(...this.outcomesOf(each.answered, faults));
    }
    records.push(...this.orderRelay.recordsOf(allRelayed, ofOrder));
    const [first, ...others] = read;
    if (first === undefined) return;
    const { message } = first.answered;
    if (others.length === 0) {
      message.finish(records, (refusal) => this.outcomesOf(first.answered, [notTaken(refusal)]));
      return;
    }
    message.finishWith(
      others.map(({ answered }) => answered.message),
      records,
      (apart) => {
        const its = read.filter(({ answered }) => answered.message === apart);
        this.relay(its, ofOrder, unknown);
      },
    );
  }

  private toRelay(
    { answered, orders }: ReadMessage,
    unknown: Unknown,
  ): { relayed: RelayedOrder[]; faults: CommandResult[] } {
    const from = {
      source: this.outcomes.sourceOf(answered),
      recordedAt: Number(answered.message.timestamp),
      trace: answered.message.span.context,
    };
    const found = this.orderRelay.toRelay(orders, from, unknown);
    if (found.faults.length > 0) {
      answered.namesOthers = this.orderRelay.machinesOf(orders).size > 1;
    }
    return found;
  }

  private requestOf(
    answered: AnsweredMessage,
    thin: ThinEvent,
    ofOrder: Partitioner,
  ): OutboundRecord {
    const trace = answered.message.span.context;
    const source = this.outcomes.sourceOf(answered);
    const request = { ...thin, source, receivedAt: realEpochMs(), trace };
    const partition = ofOrder(thin.orderId);
    return queueRecord(this.topicPrefix, ORDER_REQUESTS, partition, request, trace);
  }

  private outcomesOf(
    answered: AnsweredMessage,
    results: readonly CommandResult[],
  ): readonly OutboundRecord[] {
    return this.outcomes.recordsOf('work-order-list', answered, results);
  }
}

function documentOf(message: InboundMessage, { contentType, body }: Envelope): OrderDocument {
  // Epoch seconds: dates what carries no time of its own.
  const recordedAt = Math.floor(Number(message.timestamp) / 1000);
  return { contentType, body, sourceTopic: sourceTopicOf(message), recordedAt };
}
