import {
  type OrderFence,
  type OrderOperation,
  type OrderSnapshot,
  type OrderStatus,
} from '#libs/contracts';

/**
 * An order as last known: all it takes to place its operations again. Of a finished one only the time
 * and the sender's count are kept, so that no older message brings it back.
 */
export interface KnownOrder extends Omit<OrderSnapshot, 'orderId'> {
  /** Machines that have it on their list. */
  machineIds: readonly string[];
  /** Of the message it comes from, in this partition of the input. */
  offset: number;
}

type StoredOperation = (string | number | null)[];

/** How an order is stored: without the fields' names, which would be more than all the rest. */
type StoredOrder = [
  changedAt: number,
  offset: number,
  status: OrderStatus,
  machineIds: readonly string[],
  operations: StoredOperation[],
  fence?: OrderFence,
];

export function storedOrder(order: KnownOrder): StoredOrder {
  const { changedAt, offset, status, machineIds, fence } = order;
  const operations = order.operations.map((operation) =>
    FIELDS.map((field) => operation[field] ?? null),
  );
  if (fence === undefined) return [changedAt, offset, status, machineIds, operations];
  return [changedAt, offset, status, machineIds, operations, fence];
}

/** The fields of an operation in the order in which they are stored; new ones come last. */
const FIELDS = [
  'operationId',
  'status',
  'machineId',
  'workCentre',
  'plant',
  'sequence',
  'plannedStart',
] as const satisfies readonly (keyof OrderOperation)[];

/** Reads what the bridge itself has stored; undefined for what it has not. */
export function readStoredOrder(json: unknown): KnownOrder | undefined {
  if (!Array.isArray(json) || !Array.isArray(json[4])) return undefined;
  const [changedAt, offset, status, machineIds, stored, fence] = json as StoredOrder;
  const operations = stored.map((values) => {
    const present = FIELDS.flatMap((field, index) => {
      const value = values[index] ?? null;
      return value === null ? [] : [[field, value] as const];
    });
    return Object.fromEntries(present) as unknown as OrderOperation;
  });
  return { changedAt, offset, status, machineIds, operations, ...fenced(fence) };
}

export function toKnownOrder(
  order: OrderSnapshot,
  machineIds: readonly string[],
  offset: number,
): KnownOrder {
  const { changedAt, status, operations, fence } = order;
  const version = { changedAt, offset, ...fenced(fence) };
  if (!isFinished(order)) return { ...version, status, operations, machineIds };
  const end = isOver(status) ? status : 'completed';
  return { ...version, status: end, operations: [], machineIds: [] };
}

function fenced(fence: OrderFence | undefined): { fence?: OrderFence } {
  return fence === undefined ? {} : { fence };
}

/** An order that is over takes its operations with it, whatever they still say of themselves. */
export function isFinished({
  status,
  operations,
}: Pick<OrderSnapshot, 'status' | 'operations'>): boolean {
  const areOperationsOver =
    operations.length > 0 && operations.every((each) => isOver(each.status));
  return isOver(status) || areOperationsOver;
}

function isOver(status: OrderStatus): boolean {
  return status === 'completed' || status === 'cancelled';
}
