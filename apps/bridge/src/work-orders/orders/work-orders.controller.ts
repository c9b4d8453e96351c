import { Controller, Inject } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { type BridgeSettings } from '#libs/config';
import { type Envelope, type OrderMessage, parsed, TOPICS } from '#libs/contracts';
import { type OrderDocument, sourceTopicOf } from '#libs/erp-formats';
import { type InboundMessage } from '#libs/messaging';
import {
  type AnsweredMessage,
  CommandOutcomes,
  openMessage,
  rejection,
} from '../../command-delivery/index.js';
import { Equipment } from '../../equipment/index.js';
import { BRIDGE_SETTINGS } from '../../platform/index.js';
import { OrderLedger } from './order-ledger.js';
import { readOrders } from './read-orders.js';
import { UnknownMachines } from './unknown-machines.js';

interface ReadDocument {
  answered: AnsweredMessage;
  orders: readonly OrderMessage[];
}

/** `erp.work-orders.v1`: orders as they change, in the ERP's own format, on their way into the ledger. */
@Controller()
export class WorkOrdersController {
  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    private readonly equipment: Equipment,
    private readonly ledger: OrderLedger,
    private readonly unknownMachines: UnknownMachines,
    private readonly outcomes: CommandOutcomes,
  ) {}

  /** Resolves once the messages are in the ledger's hands: those behind them must not overtake them. */
  @EventPattern(TOPICS.workOrders)
  async handle(messages: readonly InboundMessage[]): Promise<void> {
    const documents: ReadDocument[] = [];
    for (const message of messages) {
      if (message.ownership.isLost) {
        // a document may take seconds, and its next owner reads it anew
        message.abandon();
        continue;
      }
      try {
        const document = await this.read(message);
        if (document !== undefined) documents.push(document);
      } catch (error) {
        message.fail(error);
      }
    }
    const [first] = documents;
    if (first === undefined) return;
    const { partition, ownership } = first.answered.message;
    const named = this.machinesOf(documents);
    const unknownMachines = await this.unknownMachines.among(named, ownership);
    const entries = documents.map(({ answered, orders }) => {
      const { message } = answered;
      const source = this.outcomes.sourceOf(answered);
      return { message, offset: message.offset, answered, source, orders, unknownMachines };
    });
    this.ledger.take(partition, entries);
  }

  private async read(message: InboundMessage): Promise<ReadDocument | undefined> {
    const { answered, parsed: envelope } = openMessage(message, parsed);
    const orders = envelope.ok
      ? await readOrders(documentOf(message, envelope.value), this.settings.erp)
      : envelope;
    if (orders.ok) return { answered, orders: orders.value };
    this.outcomes.answersTo('work-order-list', answered, 0, [rejection(orders.rejection)]);
    return undefined;
  }

  private machinesOf(documents: readonly ReadDocument[]): ReadonlySet<string> {
    const machineIds = new Set<string>();
    for (const { orders } of documents) {
      for (const { order } of orders) {
        for (const operation of order.operations ?? []) {
          const machineId = this.equipment.machineOf(operation);
          if (machineId !== undefined) machineIds.add(machineId);
        }
      }
    }
    return machineIds;
  }
}

function documentOf(message: InboundMessage, { contentType, body }: Envelope): OrderDocument {
  // Epoch seconds: dates what carries no time of its own.
  const recordedAt = Math.floor(Number(message.timestamp) / 1000);
  return { contentType, body, sourceTopic: sourceTopicOf(message), recordedAt };
}
