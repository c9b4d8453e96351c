import { Inject, Controller } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { type BridgeSettings } from '#libs/config';
import { type OrderMessage, TOPICS } from '#libs/contracts';
import { EquipmentMap, readOrderDocument, sourceTopicOf } from '#libs/erp-formats';
import { type InboundMessage } from '#libs/messaging';
import {
  acceptEach,
  CommandOutcomes,
  type CommandResult,
  openMessage,
  rejection,
} from '../command-delivery/index.js';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import { OrderLedger } from './order-ledger.js';
import { rejectUnmapped, type UnmappedOperation } from './reject-unmapped.js';
import { WorkOrderLists } from './work-order-lists.js';

/** `erp.work-orders.v1`: orders as they change, in the ERP's own format, turned into machines' lists. */
@Controller()
export class WorkOrdersController {
  private readonly ledger = new OrderLedger();

  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    private readonly equipment: EquipmentMap,
    private readonly lists: WorkOrderLists,
    private readonly outcomes: CommandOutcomes,
  ) {}

  @EventPattern(TOPICS.workOrders)
  handle(messages: readonly InboundMessage[]): void {
    acceptEach(messages, (message) => {
      this.accept(message);
    });
  }

  private accept(message: InboundMessage): void {
    const { answered, parsed: orders } = openMessage(message, (envelope) =>
      readOrderDocument(
        { ...envelope, sourceTopic: sourceTopicOf(message), recordedAt: recordedAt(message) },
        { timeZone: this.settings.erp.timeZone },
      ),
    );
    const { touched, known } = orders.ok
      ? this.record(orders.value)
      : { touched: [], known: [rejection(orders.rejection)] };
    const answers = this.outcomes.answersTo('work-order-list', answered, touched.length, known);
    for (const machineId of touched) {
      const workingOrders = () => this.ledger.listOf(machineId);
      this.lists.set({ machineId, workingOrders, cumulative: true }, answers);
    }
  }

  /** Machines whose lists are to be set, and what is known without a call. */
  private record(messages: readonly OrderMessage[]): { touched: string[]; known: CommandResult[] } {
    const refused = messages.flatMap(rejectChange);
    const superseded: CommandResult[] = [];
    const unmapped: UnmappedOperation[] = [];
    const touched = new Set<string>();
    for (const { kind, order } of messages) {
      if (kind === 'change') continue;
      const { orderId, changedAt } = order;
      const change = this.ledger.record(order, (operation) => this.equipment.machineOf(operation));
      if (change.kind === 'recorded') {
        for (const machineId of change.machineIds) touched.add(machineId);
        for (const operation of change.unmapped) unmapped.push({ orderId, operation });
        continue;
      }
      const detail = `order ${orderId} changed at ${changedAt}; known is the change of ${change.knownChangedAt}`;
      for (const machineId of change.machineIds) {
        superseded.push({ kind: 'superseded', machineId, attempts: 0, detail });
      }
    }
    return {
      touched: [...touched],
      known: [...refused, ...superseded, ...rejectUnmapped(unmapped)],
    };
  }
}

/** Epoch seconds at which the message was written. */
function recordedAt({ timestamp }: InboundMessage): number {
  return Math.floor(Number(timestamp) / 1000);
}

/** The ledger knows where an order is done, not all that a change could be laid over. */
function rejectChange({ kind, order: { orderId } }: OrderMessage): CommandResult[] {
  if (kind === 'snapshot') return [];
  const detail = `order ${orderId} comes without its operations; only whole orders are applied`;
  return [rejection({ code: 'invalid-message', detail })];
}
