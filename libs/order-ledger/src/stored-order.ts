import { type OrderFence, type OrderOperation, type OrderStatus } from '#libs/contracts';
import { type KnownOrder } from './known-order.js';

/** How an order is stored: without the fields' names, which would be more than all the rest. */
type StoredOrder = [
  changedAt: number,
  offset: number,
  status: OrderStatus,
  machineIds: readonly string[],
  operations: (string | number | null)[][],
  fence: OrderFence | null,
  partition: number,
  recordedAt: number,
];

/** From the fence on. */
type StoredOrderEnd = Partial<[OrderFence | null, number, number]>;

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
  const { changedAt, from, status, machineIds, fence = null } = order;
  const { partition, offset, recordedAt } = from;
  const operations = order.operations.map((operation) =>
    FIELDS.map((field) => operation[field] ?? null),
  );
  return [changedAt, offset, status, machineIds, operations, fence, partition, recordedAt];
}

/** Reads what the bridge itself has stored; undefined for what it has not. */
export function fromStoredOrder(json: unknown): KnownOrder | undefined {
  if (!Array.isArray(json) || !Array.isArray(json[4])) return undefined;
  const [changedAt, offset, status, machineIds, stored] = json as StoredOrder;
  // records of earlier versions end here, or with the fence, or have more fields
  const [fence = null, partition = -1, recordedAt = 0] = json.slice(5) as StoredOrderEnd;
  const operations = stored.map((values) => {
    const present = FIELDS.flatMap((field, index) => {
      const value = values[index] ?? null;
      return value === null ? [] : [[field, value] as const];
    });
    return Object.fromEntries(present) as unknown as OrderOperation;
  });
  const order: KnownOrder = {
    ...{ changedAt, status, machineIds, operations },
    from: { partition, offset, recordedAt },
  };
  if (fence !== null) order.fence = fence;
  return order;
}
