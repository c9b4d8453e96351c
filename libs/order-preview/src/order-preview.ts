import { Clock } from '#libs/clock';
import type { ErpSettings } from '#libs/config';
import { type OrderMessage, parsed, type Parsed, type Rejection } from '#libs/contracts';
import { groupBy, type OrderDocument, type OrderMapping, readOrders } from '#libs/erp-formats';
import {
  AssignmentTable,
  type KnownOrder,
  type MachineOf,
  rejectUnmapped,
  applyToOrder,
  unmappedOperations,
} from '#libs/order-ledger';

export interface PreviewedDocument {
  messages: readonly OrderMessage[];
  /** Machines whose lists would be set. */
  machineIds: readonly string[];
  rejections: readonly Rejection[];
  /** Details of parts that are older than the known order, and change nothing. */
  superseded: readonly string[];
}

/** Applies documents as the bridge would, with the same ledger, but without Kafka and the service. */
export class OrderPreview {
  private readonly orders = new Map<string, KnownOrder>();
  private readonly table = AssignmentTable.inMemory();
  private readonly machineIds = new Set<string>();
  private offset = 0;

  constructor(
    private readonly erp: ErpSettings,
    private readonly mapping: OrderMapping,
    private readonly clock = new Clock(),
  ) {}

  /** Must be called in the order of the messages, one at a time. */
  async previewDocument(document: OrderDocument): Promise<Parsed<PreviewedDocument>> {
    const messages = await readOrders(document, this.erp, this.mapping, this.clock.nowSeconds());
    if (!messages.ok) return messages;
    const position = { partition: 0, offset: this.offset++, recordedAt: 0 };
    const touched = new Set<string>();
    const rejections: Rejection[] = [];
    const superseded: string[] = [];
    const byOrder = groupBy(messages.value, ({ order }) => order.orderId);
    for (const [orderId, ofOrder] of byOrder) {
      const unmapped = ofOrder.flatMap((message) => this.unmappedOf(message));
      rejections.push(...unmapped);
      const relayed = { messages: ofOrder, position, wasUnmapped: unmapped.length > 0 };
      const taken = applyToOrder(relayed, this.orders.get(orderId), this.machineOf);
      if (taken.known !== undefined) this.orders.set(orderId, taken.known);
      for (const [machineId, operations] of taken.assignments) {
        touched.add(machineId);
        this.table.assign(machineId, orderId, operations);
      }
      for (const finding of taken.findings) {
        if (finding.kind === 'rejected') rejections.push(finding.rejection);
        if (finding.kind === 'superseded') superseded.push(finding.detail);
      }
    }
    for (const machineId of touched) this.machineIds.add(machineId);
    return parsed({
      messages: messages.value,
      machineIds: [...touched],
      rejections,
      superseded: [...new Set(superseded)],
    });
  }

  private readonly machineOf: MachineOf = (operation) => this.erp.equipmentMap.machineOf(operation);

  /** The rejections that the bridge makes when it reads the document. */
  private unmappedOf({ kind, order }: OrderMessage): Rejection[] {
    if (kind === 'change') return [];
    const unmapped = unmappedOperations(order, this.machineOf);
    return unmapped.length === 0 ? [] : [rejectUnmapped(order.orderId, unmapped)];
  }

  /** The final list of each affected machine. */
  lists(): [machineId: string, workingOrders: readonly string[]][] {
    return [...this.machineIds]
      .sort()
      .map((machineId) => [machineId, this.table.listOf(machineId)]);
  }
}
