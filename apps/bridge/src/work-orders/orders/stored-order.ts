import { type OrderFence, type OrderOperation, type OrderStatus } from '#libs/contracts';
import { type KnownOrder } from './known-order.js';

/** How an order is stored: without the fields' names, which would be more than all the rest. */
type StoredOrder = [
  changedAt: number,
  offset: number,
  status: OrderStatus,
  machineIds: readonly string[],
  operations: (string | number | null)[][],
  fence?: OrderFence,
];

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

export function toStoredOrder(order: KnownOrder): StoredOrder {
  const { changedAt, offset, status, machineIds, fence } = order;
  const operations = order.operations.map((operation) =>
    FIELDS.map((field) => operation[field] ?? null),
  );
  const stored: StoredOrder = [changedAt, offset, status, machineIds, operations];
  if (fence !== undefined) stored.push(fence);
  return stored;
}

/** Reads what the bridge itself has stored; undefined for what it has not. */
export function fromStoredOrder(json: unknown): KnownOrder | undefined {
  if (!Array.isArray(json) || !Array.isArray(json[4])) return undefined;
  const [changedAt, offset, status, machineIds, stored, fence] = json as StoredOrder;
  const operations = stored.map((values) => {
    const present = FIELDS.flatMap((field, index) => {
      const value = values[index] ?? null;
      return value === null ? [] : [[field, value] as const];
    });
    return Object.fromEntries(present) as unknown as OrderOperation;
  });
  const order = { changedAt, offset, status, machineIds, operations };
  return fence === undefined ? order : { ...order, fence };
}
