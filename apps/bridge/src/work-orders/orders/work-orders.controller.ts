import { Controller, Inject } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { Clock } from '#libs/clock';
import { type BridgeSettings } from '#libs/config';
import { type Envelope, type OrderMessage, parsed, type Parsed, TOPICS } from '#libs/contracts';
import { type OrderDocument, sourceTopicOf } from '#libs/erp-formats';
import { type InboundMessage } from '#libs/messaging';
import {
  type AnsweredMessage,
  CommandOutcomes,
  openMessage,
  rejection,
} from '../../command-delivery/index.js';
import { BRIDGE_SETTINGS } from '../../platform/index.js';
import { OrderIntake } from './order-intake.js';
import { readOrders } from './read-orders.js';
import { type ReadMessage } from './sorted-message.js';

/** `erp.work-orders.v1`: orders as they change, in the ERP's own format, on their way into the ledger. */
@Controller()
export class WorkOrdersController {
  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    private readonly clock: Clock,
    private readonly intake: OrderIntake,
    private readonly outcomes: CommandOutcomes,
  ) {}

  /** Resolves once the messages are in the ledger's hands: those behind them must not overtake them. */
  @EventPattern(TOPICS.workOrders)
  async handle(messages: readonly InboundMessage[]): Promise<void> {
    const read: ReadMessage[] = [];
    for (const message of messages) {
      if (message.ownership.isLost) {
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
    await this.intake.take(read);
  }

  private read(
    message: InboundMessage,
  ): ReadMessage | undefined | Promise<ReadMessage | undefined> {
    const { answered, parsed: envelope } = openMessage(message, parsed);
    if (!envelope.ok) return this.asRead(answered, envelope);
    const document = documentOf(message, envelope.value);
    const orders = readOrders(document, this.settings.erp, this.clock.nowSeconds());
    return orders instanceof Promise
      ? orders.then((read) => this.asRead(answered, read))
      : this.asRead(answered, orders);
  }

  /** Undefined where it is refused, which is answered here. */
  private asRead(
    answered: AnsweredMessage,
    orders: Parsed<OrderMessage[]>,
  ): ReadMessage | undefined {
    if (orders.ok) {
      const source = this.outcomes.sourceOf(answered);
      const recordedAt = Number(answered.message.timestamp);
      return { answered, source, recordedAt, orders: orders.value };
    }
    this.outcomes.answersTo('work-order-list', answered, 0, [rejection(orders.rejection)]);
    return undefined;
  }
}

function documentOf(message: InboundMessage, { contentType, body }: Envelope): OrderDocument {
  // Epoch seconds: dates what carries no time of its own.
  const recordedAt = Math.floor(Number(message.timestamp) / 1000);
  return { contentType, body, sourceTopic: sourceTopicOf(message), recordedAt };
}
