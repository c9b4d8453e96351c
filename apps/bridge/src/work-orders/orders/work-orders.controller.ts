import { Controller, Inject } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { type BridgeSettings } from '#libs/config';
import { type OrderSnapshot, TOPICS } from '#libs/contracts';
import { EquipmentMap, readOrderDocument } from '#libs/erp-formats';
import { type InboundMessage } from '#libs/messaging';
import {
  acceptEach,
  type AnsweredMessage,
  CommandOutcomes,
  openMessage,
  rejection,
} from '../../command-delivery/index.js';
import { BRIDGE_SETTINGS } from '../../platform/index.js';
import { OrderLedger } from './order-ledger.js';
import { UnknownMachines } from './unknown-machines.js';

interface OrderDocument {
  answered: AnsweredMessage;
  orders: readonly OrderSnapshot[];
}

/** `erp.work-orders.v1`: orders as they change, in the ERP's own format, on their way into the ledger. */
@Controller()
export class WorkOrdersController {
  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    private readonly equipment: EquipmentMap,
    private readonly ledger: OrderLedger,
    private readonly unknownMachines: UnknownMachines,
    private readonly outcomes: CommandOutcomes,
  ) {}

  /** Resolves once the messages are in the ledger's hands: those behind them must not overtake them. */
  @EventPattern(TOPICS.workOrders)
  async handle(messages: readonly InboundMessage[]): Promise<void> {
    const documents: OrderDocument[] = [];
    acceptEach(messages, (message) => {
      const document = this.read(message);
      if (document !== undefined) documents.push(document);
    });
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

  private read(message: InboundMessage): OrderDocument | undefined {
    const { answered, parsed } = openMessage(message, (envelope) =>
      readOrderDocument(envelope, { timeZone: this.settings.erp.timeZone }),
    );
    if (parsed.ok) return { answered, orders: parsed.value };
    this.outcomes.answersTo('work-order-list', answered, 0, [rejection(parsed.rejection)]);
    return undefined;
  }

  private machinesOf(documents: readonly OrderDocument[]): ReadonlySet<string> {
    const machineIds = new Set<string>();
    for (const { orders } of documents) {
      for (const { operations } of orders) {
        for (const operation of operations) {
          const machineId = this.equipment.machineOf(operation);
          if (machineId !== undefined) machineIds.add(machineId);
        }
      }
    }
    return machineIds;
  }
}
