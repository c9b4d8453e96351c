import {
  isOver,
  type OrderMessage,
  type OrderOperation,
  type OrderSnapshot,
  type OrderStatus,
  type SourceSequence,
} from '#libs/contracts';

export interface MessagePosition {
  partition: number;
  offset: number;
  /** Epoch milliseconds, of its record: the only thing by which messages of different partitions can be compared. */
  recordedAt: number;
}

const SENDERS_DIFFER_MS = 60_000;

/** Whether a message was sent before another, by its offset or else by its timestamp. */
export function isBefore(message: MessagePosition, other: MessagePosition): boolean {
  if (message.partition !== other.partition) return message.recordedAt < other.recordedAt;
  // offsets begin anew in a topic that is created anew; senders' clocks differ a little
  return message.offset < other.offset && message.recordedAt < other.recordedAt + SENDERS_DIFFER_MS;
}

/**
 * An order as last known: all it takes to place its operations again. Of a finished one its status, its time and the
 * sender's count are kept, so that no older message brings it back, and two operations of each machine that had several,
 * as done: one that is taken up again has its former name on the list.
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
  // Written out: this runs for every order, and to spread objects takes several times as long.
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
  return isOver(operation.status) ? operation : { ...operation, status: ofOrder };
}

/** Whether it is dated by a time that no clock can have shown yet: earlier versions took such messages. */
export function isAhead({ changedAt }: KnownOrder, latestSeconds: number): boolean {
  return changedAt > latestSeconds;
}

/**
 * What is known, but for a time that cannot be, which would have everything to come taken for older: it counts as
 * old as the message, so that of the two the later in the log is the newer.
 */
export function believedOf(
  known: KnownOrder | undefined,
  { order }: OrderMessage,
  latestSeconds = Infinity,
): KnownOrder | undefined {
  if (known === undefined || !isAhead(known, latestSeconds)) return known;
  return { ...known, changedAt: order.changedAt };
}

/**
 * An order that is over takes its operations with it, whatever they still say of themselves; one that is not
 * is finished when it has no operation left to do.
 */
export function isFinished({
  status,
  operations,
}: Pick<OrderSnapshot, 'status' | 'operations'>): boolean {
  return isOver(status) || operations.every((each) => isOver(each.status));
}

/** How an order is stored: without the fields' names, which would be more than all the rest. */
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

/** From the source sequence on. */
type StoredOrderEnd = Partial<[SourceSequence | null, number, number]>;

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
  // records of earlier versions end here, or with the sequence, or have more fields
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

/** A message is hardly older than the last so many orders of its partition; they take a few megabytes. */
const REMEMBERED = 50_000;

/** In which order orders were finished, so that those finished longest ago can be forgotten. */
export class FinishedOrders {
  /** A set keeps the order of insertion. */
  private readonly orderIds: Set<string>;

  /** @param oldestFirst those known to be finished */
  constructor(
    oldestFirst: Iterable<string> = [],
    private readonly remembered = REMEMBERED,
  ) {
    this.orderIds = new Set(oldestFirst);
  }

  /** Returns those finished longest ago that are forgotten for it. */
  finished(orderId: string): string[] {
    // Taking the order out first makes it the youngest.
    this.orderIds.delete(orderId);
    this.orderIds.add(orderId);
    const forgotten: string[] = [];
    for (const oldest of this.orderIds) {
      if (this.orderIds.size <= this.remembered) break;
      this.orderIds.delete(oldest);
      forgotten.push(oldest);
    }
    return forgotten;
  }

  /** The order is open again. */
  delete(orderId: string): void {
    this.orderIds.delete(orderId);
  }
}
