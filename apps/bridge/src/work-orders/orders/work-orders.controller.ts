import { Controller, Inject } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { Clock, realEpochMs } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import { type Envelope, type OrderMessage, type Parsed, TOPICS } from '#libs/contracts';
import { OrderMapping, readOrders, sourceTopicOf, type ThinEvent } from '#libs/erp-formats';
import type { InboundMessage, OutboundRecord } from '#libs/kafka';
import { CommandOutcomes, type InboundTarget, notStored, rejection } from '../../delivery/index.js';
import { BRIDGE_SETTINGS } from '../../platform/index.js';
import { ORDER_REQUESTS, OrderQueues, type RelayedOrder } from './order-queues.js';
import { OrderRelay, type UnlistedMachines } from './order-relay.js';

/** An input message, and its orders or the order to be requested from the ERP. */
interface ReadMessage {
  target: InboundTarget;
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
        const { target, envelope } = this.outcomes.openMessage(message);
        const reading = envelope.ok ? this.readMessage(message, envelope.value) : envelope;
        // Awaiting a result that is there already would cost as much as reading the document.
        const content = reading instanceof Promise ? await reading : reading;
        if (content.ok) read.push({ target, content: content.value });
        else message.finish(this.outcomes.resultRecords(target, [rejection(content.rejection)]));
      } catch (error) {
        message.fail(error);
      }
    }
    const [first] = read;
    if (first === undefined) return;
    const { revoked } = first.target.message;
    await this.queues.readPartitionCounts(revoked);
    const orders = read.flatMap(({ content }) => (Array.isArray(content) ? content : []));
    this.finishWithRelayed(read, await this.orderRelay.refuseUnlisted(orders, revoked));
  }

  private readMessage(
    message: InboundMessage,
    envelope: Envelope,
  ): Parsed<Content> | Promise<Parsed<Content>> {
    const { erp } = this.settings;
    const thin = erp.enrichment.findThinEvent(message, envelope);
    if (thin !== undefined) return thin;
    const { contentType, body } = envelope;
    // Epoch seconds; the time of changes without a time of their own.
    const recordedAt = Math.floor(Number(message.timestamp) / 1000);
    const document = { contentType, body, sourceTopic: sourceTopicOf(message), recordedAt };
    return readOrders(document, erp, this.mapping, this.clock.nowSeconds());
  }

  /** Ends the messages with the records of their orders and rejections. */
  private finishWithRelayed(read: readonly ReadMessage[], unknown: UnlistedMachines): void {
    const allRelayed: RelayedOrder[] = [];
    const records: OutboundRecord[] = [];
    for (const { target, content } of read) {
      const { source } = target;
      const trace = target.message.span.context;
      if (!Array.isArray(content)) {
        const request = { ...content, source, receivedAt: realEpochMs(), trace };
        const partition = this.queues.partitionOfOrder(content.orderId);
        records.push(this.queues.queueRecord(ORDER_REQUESTS, partition, request, trace));
        continue;
      }
      const from = { source, recordedAt: Number(target.message.timestamp), trace };
      const { relayed, faults } = this.orderRelay.relayOrders(content, from, unknown);
      allRelayed.push(...relayed);
      if (faults.length === 0) continue;
      // The message is about an order, and names machines only in the way of its format.
      target.namesOthers = true;
      records.push(...this.outcomes.resultRecords(target, faults));
    }
    records.push(...this.orderRelay.relayRecords(allRelayed));
    const [first, ...others] = read;
    if (first === undefined) return;
    const { message } = first.target;
    if (others.length === 0) {
      message.finish(records, (refusal) =>
        this.outcomes.resultRecords(first.target, [notStored(refusal)]),
      );
      return;
    }
    message.finishWith(
      others.map(({ target }) => target.message),
      records,
      (apart) => {
        const its = read.filter(({ target }) => target.message === apart);
        this.finishWithRelayed(its, unknown);
      },
    );
  }
}
