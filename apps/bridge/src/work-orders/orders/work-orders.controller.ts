import { Controller, Inject } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { Clock, realEpochMs } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import { type Envelope, type OrderMessage, type Parsed, TOPICS } from '#libs/contracts';
import { OrderMapping, readOrders, sourceTopicOf, type ThinEvent } from '#libs/erp-formats';
import type { InboundMessage, OutboundRecord } from '#libs/kafka';
import { CommandOutcomes, type InboundTarget, notTaken, rejection } from '../../delivery/index.js';
import { BRIDGE_SETTINGS } from '../../platform/index.js';
import { ORDER_REQUESTS, OrderQueues, type RelayedOrder } from './order-queues.js';
import { OrderRelay, type UnlistedMachines } from './order-relay.js';

/** An input message, and its orders or the order to be requested from the ERP. */
interface ReadMessage {
  answered: InboundTarget;
  content: Content;
}

type Content = OrderMessage[] | ThinEvent;

/**
 * `erp.work-orders.v1`: orders as they change, in the ERP's format. What can be rejected from the document alone is
 * dead-lettered here. Each order goes on to the partition of its id in the same transaction, and so does a thin event
 * to the queue of order requests.
 */
@Controller()
export class WorkOrdersController {
  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    private readonly clock: Clock,
    private readonly mapping: OrderMapping,
    private readonly orderRelay: OrderRelay,
    private readonly queues: OrderQueues,
    private readonly outcomes: CommandOutcomes,
  ) {}

  /** Resolves once the messages' records are handed over: later messages must not overtake them. */
  @EventPattern(TOPICS.workOrders)
  async handle(messages: readonly InboundMessage[]): Promise<void> {
    const read: ReadMessage[] = [];
    for (const message of messages) {
      if (message.revoked.aborted) {
        // A document may take seconds to read, and the partition's next owner reads it again.
        message.abandon();
        continue;
      }
      try {
        const { answered, envelope } = this.outcomes.openMessage(message);
        const reading = envelope.ok ? this.read(message, envelope.value) : envelope;
        // Awaiting a result that is there already would cost as much as reading the document.
        const content = reading instanceof Promise ? await reading : reading;
        if (content.ok) read.push({ answered, content: content.value });
        else message.finish(this.outcomes.recordsOf(answered, [rejection(content.rejection)]));
      } catch (error) {
        message.fail(error);
      }
    }
    const [first] = read;
    if (first === undefined) return;
    const { revoked } = first.answered.message;
    await this.queues.known(revoked);
    const orders = read.flatMap(({ content }) => (Array.isArray(content) ? content : []));
    this.relay(read, await this.orderRelay.refuseUnlisted(orders, revoked));
  }

  private read(
    message: InboundMessage,
    envelope: Envelope,
  ): Parsed<Content> | Promise<Parsed<Content>> {
    const { erp } = this.settings;
    const thin = erp.enrichment.find(message, envelope);
    if (thin !== undefined) return thin;
    const { contentType, body } = envelope;
    // Epoch seconds; the time of changes without a time of their own.
    const recordedAt = Math.floor(Number(message.timestamp) / 1000);
    const document = { contentType, body, sourceTopic: sourceTopicOf(message), recordedAt };
    return readOrders(document, erp, this.mapping, this.clock.nowSeconds());
  }

  /** Ends the messages with the records of their orders and rejections. */
  private relay(read: readonly ReadMessage[], unknown: UnlistedMachines): void {
    const allRelayed: RelayedOrder[] = [];
    const records: OutboundRecord[] = [];
    for (const { answered, content } of read) {
      const { source } = answered;
      const trace = answered.message.span.context;
      if (!Array.isArray(content)) {
        const request = { ...content, source, receivedAt: realEpochMs(), trace };
        const partition = this.queues.ofOrder(content.orderId);
        records.push(this.queues.recordOf(ORDER_REQUESTS, partition, request, trace));
        continue;
      }
      const from = { source, recordedAt: Number(answered.message.timestamp), trace };
      const { relayed, faults } = this.orderRelay.toRelay(content, from, unknown);
      allRelayed.push(...relayed);
      if (faults.length === 0) continue;
      // The message is about an order, and names machines only in the way of its format.
      answered.namesOthers = true;
      records.push(...this.outcomes.recordsOf(answered, faults));
    }
    records.push(...this.orderRelay.recordsOf(allRelayed));
    const [first, ...others] = read;
    if (first === undefined) return;
    const { message } = first.answered;
    if (others.length === 0) {
      message.finish(records, (refusal) =>
        this.outcomes.recordsOf(first.answered, [notTaken(refusal)]),
      );
      return;
    }
    message.finishWith(
      others.map(({ answered }) => answered.message),
      records,
      (apart) => {
        const its = read.filter(({ answered }) => answered.message === apart);
        this.relay(its, unknown);
      },
    );
  }
}
