import { Inject, Controller } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { type BridgeSettings } from '#libs/config';
import { type OrderSnapshot, TOPICS } from '#libs/contracts';
import { EquipmentMap, readOrderDocument } from '#libs/erp-formats';
import { type InboundMessage } from '#libs/messaging';
import {
  type AnsweredMessage,
  CommandOutcomes,
  openMessage,
  type CommandResult,
  rejection,
} from '../command-delivery/index.js';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import { OrderLedger } from './order-ledger.js';
import {
  outcomePerMachine,
  rejectUnmapped,
  type UnmappedOperation,
} from './outcome-per-machine.js';
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
    const { answered, parsed: orders } = openMessage(message, (envelope) =>
      readOrderDocument(envelope, { timeZone: this.settings.erp.timeZone }),
    );
    const results = orders.ok
      ? await this.applyAll(orders.value, answered)
      : [rejection(orders.rejection)];
    await this.outcomes.publish('work-order-list', answered, results);
  }

  /** The ledger learns of every order before this waits for anything: messages keep their order. */
  private async applyAll(
    orders: readonly OrderSnapshot[],
    answered: AnsweredMessage,
  ): Promise<CommandResult[]> {
    const superseded: CommandResult[] = [];
    const unmapped: UnmappedOperation[] = [];
    const touched = new Set<string>();
    for (const order of orders) {
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
    const lists = [...touched].map((machineId) =>
      this.lists.set(
        { machineId, workingOrders: () => this.ledger.listOf(machineId), cumulative: true },
        answered,
      ),
    );
    const settled = await Promise.all(lists);
    return outcomePerMachine([...settled, ...superseded, ...rejectUnmapped(unmapped)]);
  }
}
