import { Clock } from '#libs/clock';
import { type ErpSettings } from '#libs/config';
import { type OrderMessage, parsed, type Parsed, type Rejection } from '#libs/contracts';
import { type OrderDocument } from '#libs/erp-formats';
import { HeldAssignments } from '../assignments/held-assignments.js';
import { deriveOrders } from './derive-orders.js';
import { answerOf } from './gathered-orders.js';
import { type KnownOrder } from './known-order.js';
import { readOrders } from './read-orders.js';

/** What the bridge would make of a document. */
export interface PreviewedDocument {
  messages: readonly OrderMessage[];
  /** Machines whose lists it would set. */
  machineIds: readonly string[];
  /** What it would set aside, and why. */
  rejections: readonly Rejection[];
  /** Why parts of it would change nothing: something newer is known. */
  superseded: readonly string[];
}

/** What the bridge would do with documents, by the code that would do it, and without Kafka or the service. */
export class OrderPreview {
  private readonly orders = new Map<string, KnownOrder>();
  private readonly table = new HeldAssignments();
  private readonly machineIds = new Set<string>();
  private offset = 0;

  constructor(
    private readonly erp: ErpSettings,
    private readonly clock = new Clock(),
  ) {}

  /** Documents one after the other, as they would come. */
  async take(document: OrderDocument): Promise<Parsed<PreviewedDocument>> {
    const messages = await readOrders(document, this.erp, this.clock.nowSeconds());
    if (!messages.ok) return messages;
    const position = { partition: 0, offset: this.offset++, recordedAt: 0 };
    const told = { position, orders: messages.value, unknownMachines: new Map() };
    const { assignments, gathered } = deriveOrders(told, this.orders, (operation) =>
      this.erp.equipmentMap.machineOf(operation),
    );
    const { results, withoutMachine } = answerOf(gathered);
    for (const [machineId, orders] of assignments) {
      this.machineIds.add(machineId);
      for (const order of orders) this.table.assign(machineId, order);
    }
    return parsed({
      messages: messages.value,
      machineIds: [...assignments.keys()],
      rejections: results.flatMap((it) => (it.kind === 'rejected' ? [it.rejection] : [])),
      superseded: (withoutMachine === undefined ? results : [withoutMachine]).flatMap((it) =>
        it.kind === 'superseded' ? [it.detail] : [],
      ),
    });
  }

  /** The list of each machine that was touched, as it would be in the end. */
  lists(): [machineId: string, workingOrders: readonly string[]][] {
    return [...this.machineIds]
      .sort()
      .map((machineId) => [machineId, this.table.listOf(machineId)]);
  }
}
