import {
  isFinishedStatus,
  type OrderMessage,
  type OrderOperation,
  type OrderSnapshot,
  type OrderStatus,
  type SourceSequence,
} from '#libs/contracts';

export interface MessagePosition {
  partition: number;
  offset: number;
  /** Timestamp of its record in epoch milliseconds; the only order between messages of different partitions. */
  recordedAt: number;
}

const SENDERS_DIFFER_MS = 60_000;

/** Whether a message was sent before another, by offset or else by timestamp. */
export function wasSentBefore(message: MessagePosition, other: MessagePosition): boolean {
  if (message.partition !== other.partition) return message.recordedAt < other.recordedAt;
  // A topic created again restarts its offsets. Senders' clocks differ a little.
  return message.offset < other.offset && message.recordedAt < other.recordedAt + SENDERS_DIFFER_MS;
}

/**
 * An order as last known, sufficient to place its operations again. Of a finished order only the status, the time and
 * the sender's count are kept, so that no older message reopens it, and two operations, as done, of each machine that
 * had several: if it is reopened, its entries there have their former names.
 */
export interface KnownOrder extends Omit<OrderSnapshot, 'orderId'> {
  /** Machines that have it on their list. */
  machineIds: readonly string[];
  from: MessagePosition;
}

/** @param sharing two operations of each machine that has several */
export function toKnownOrder(
  order: OrderSnapshot,
  machineIds: readonly string[],
  from: MessagePosition,
  sharing: readonly OrderOperation[],
): KnownOrder {
  const { changedAt, status, fence } = order;
  // Written out field by field: this runs for every order, and object spread takes several times as long.
  const known: KnownOrder = isFinished(order)
    ? {
        changedAt,
        from,
        status,
        operations: sharing.map((each) => asDone(each, status)),
        machineIds: [],
      }
    : { changedAt, from, status, operations: order.operations, machineIds };
  if (fence !== undefined) known.fence = fence;
  return known;
}

function asDone(operation: OrderOperation, ofOrder: OrderStatus): OrderOperation {
  return isFinishedStatus(operation.status) ? operation : { ...operation, status: ofOrder };
}

/** Whether the order has a time that no clock can have shown yet, which earlier versions accepted. */
export function isDatedAhead({ changedAt }: KnownOrder, latestSeconds: number): boolean {
  return changedAt > latestSeconds;
}

/**
 * The known order, with an impossible time replaced by the message's: otherwise all later messages would count as
 * older. Of the two, the later in the log is then the newer.
 */
export function withPossibleTime(
  known: KnownOrder | undefined,
  { order }: OrderMessage,
  latestSeconds = Infinity,
): KnownOrder | undefined {
  if (known === undefined || !isDatedAhead(known, latestSeconds)) return known;
  return { ...known, changedAt: order.changedAt };
}

/**
 * Whether an order is finished: by its own status, whatever its operations say, or because all its operations are over.
 */
export function isFinished({
  status,
  operations,
}: Pick<OrderSnapshot, 'status' | 'operations'>): boolean {
  return isFinishedStatus(status) || operations.every((each) => isFinishedStatus(each.status));
}

/** An order as stored, without field names, which would take more space than the values. */
type StoredOrder = [
  changedAt: number,
  offset: number,
  status: OrderStatus,
  machineIds: readonly string[],
  operations: (string | number | null)[][],
  fence: SourceSequence | null,
  partition: number,
  recordedAt: number,
];

/** The fields from the source sequence on. */
type StoredOrderEnd = Partial<[SourceSequence | null, number, number]>;

/** The fields of an operation, in the order in which they are stored; new ones are appended. */
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

/** Parses what the bridge has stored; undefined if it is not valid. */
export function fromStoredOrder(json: unknown): KnownOrder | undefined {
  if (!Array.isArray(json) || !Array.isArray(json[4])) return undefined;
  const [changedAt, offset, status, machineIds, stored] = json as StoredOrder;
  // Records of earlier versions end here or after the sequence, or have more fields.
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

/** Finished orders remembered by partition, a few megabytes. A message is hardly older than that many orders. */
const MAX_REMEMBERED = 50_000;

/** The sequence in which orders were finished, so that the oldest can be forgotten. */
export class FinishedOrders {
  /** In the order of insertion. */
  private readonly orderIds: Set<string>;

  /** @param oldestFirst the finished orders */
  constructor(
    oldestFirst: Iterable<string> = [],
    private readonly remembered = MAX_REMEMBERED,
  ) {
    this.orderIds = new Set(oldestFirst);
  }

  /** Records whether an order is finished now; returns the oldest ones, which are forgotten for it. */
  recordOrder(orderId: string, isFinished: boolean): string[] {
    this.orderIds.delete(orderId);
    if (!isFinished) return [];
    this.orderIds.add(orderId);
    const forgotten: string[] = [];
    for (const oldest of this.orderIds) {
      if (this.orderIds.size <= this.remembered) break;
      this.orderIds.delete(oldest);
      forgotten.push(oldest);
    }
    return forgotten;
  }
}
