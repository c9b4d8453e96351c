import { Clock } from '#libs/clock';
import { type ErpSettings } from '#libs/config';
import { type OrderMessage, parsed, type Parsed, type Rejection } from '#libs/contracts';
import { type OrderDocument, type OrderMapping, readOrders } from '#libs/erp-formats';
import {
  type AssignedOperation,
  assignmentKey,
  AssignmentTable,
  type KnownOrder,
  type MachineOf,
  placeOrder,
  rejectUnmapped,
  takeInOrder,
} from '#libs/order-ledger';

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
  private readonly operations = new Map<string, readonly AssignedOperation[]>();
  private readonly table = new AssignmentTable(
    (machineId, orderId) => this.operations.get(assignmentKey(machineId, orderId)) ?? [],
  );
  private readonly machineIds = new Set<string>();
  private offset = 0;

  constructor(
    private readonly erp: ErpSettings,
    private readonly mapping: OrderMapping,
    private readonly clock = new Clock(),
  ) {}

  /** Documents one after the other, as they would come. */
  async take(document: OrderDocument): Promise<Parsed<PreviewedDocument>> {
    const messages = await readOrders(document, this.erp, this.mapping, this.clock.nowSeconds());
    if (!messages.ok) return messages;
    const position = { partition: 0, offset: this.offset++, recordedAt: 0 };
    const touched = new Set<string>();
    const rejections: Rejection[] = [];
    const superseded: string[] = [];
    for (const message of messages.value) {
      rejections.push(...this.unmappedOf(message));
      const { orderId } = message.order;
      const told = { told: [message], position };
      const taken = takeInOrder(told, this.orders.get(orderId), this.machineOf);
      if (taken.known !== undefined) this.orders.set(orderId, taken.known);
      for (const [machineId, operations] of taken.assignments) {
        touched.add(machineId);
        this.operations.set(assignmentKey(machineId, orderId), operations);
        this.table.changed(machineId, orderId, operations);
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

  /** As they are refused where a document is read. */
  private unmappedOf({ kind, order }: OrderMessage): Rejection[] {
    if (kind === 'change') return [];
    const { unmapped } = placeOrder(order, this.machineOf);
    return unmapped.length === 0 ? [] : [rejectUnmapped(order.orderId, unmapped)];
  }

  /** The list of each machine that was touched, as it would be in the end. */
  lists(): [machineId: string, workingOrders: readonly string[]][] {
    return [...this.machineIds]
      .sort()
      .map((machineId) => [machineId, this.table.listOf(machineId)]);
  }
}
