import { Inject, Controller } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { type BridgeSettings } from '#libs/config';
import {
  openEnvelope,
  type OrderOperation,
  type OrderSnapshot,
  type Parsed,
  TOPICS,
} from '#libs/contracts';
import { EquipmentMap, readOrderDocument } from '#libs/erp-formats';
import { type InboundMessage } from '#libs/messaging';
import {
  type AnsweredMessage,
  CommandOutcomes,
  type CommandResult,
  rejection,
} from '../command-delivery/index.js';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import { OrderLedger } from './order-ledger.js';
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
  async handle(message: InboundMessage): Promise<void> {
    const envelope = openEnvelope(message);
    const answered = { message, messageId: envelope.ok ? envelope.value.messageId : null };
    const orders: Parsed<OrderSnapshot[]> = envelope.ok
      ? readOrderDocument(envelope.value, { timeZone: this.settings.erp.timeZone })
      : envelope;
    const results = orders.ok
      ? await this.applyAll(orders.value, answered)
      : [rejection(orders.rejection.machineId ?? null, orders.rejection)];
    await this.outcomes.publish('work-order-list', answered, results);
  }

  /** The ledger learns of every order before this waits for anything: messages keep their order. */
  private async applyAll(
    orders: readonly OrderSnapshot[],
    answered: AnsweredMessage,
  ): Promise<CommandResult[]> {
    const settled: CommandResult[] = [];
    const touched = new Set<string>();
    for (const order of orders) {
      const change = this.ledger.record(order, (operation) => this.equipment.machineOf(operation));
      if (change.kind === 'recorded') {
        for (const machineId of change.machineIds) touched.add(machineId);
        if (change.unmapped.length > 0) settled.push(unmapped(order.orderId, change.unmapped));
        continue;
      }
      const { machineIds, knownChangedAt } = change;
      const detail = `order ${order.orderId} changed at ${order.changedAt}; known is the change of ${knownChangedAt}`;
      for (const machineId of machineIds) {
        settled.push({ kind: 'superseded', machineId, attempts: 0, detail });
      }
    }
    const lists = [...touched].map((machineId) =>
      this.lists.set({ machineId, workingOrders: () => this.ledger.listOf(machineId) }, answered),
    );
    return [...(await Promise.all(lists)), ...settled];
  }
}

function unmapped(orderId: string, operations: readonly OrderOperation[]): CommandResult {
  const places = operations.map(({ plant, workCentre }) => `${plant ?? '?'}/${workCentre ?? '?'}`);
  return rejection(null, {
    code: 'unmapped-work-centre',
    detail: `order ${orderId}: no machine is mapped for ${[...new Set(places)].join(', ')} (plant/work centre)`,
  });
}
