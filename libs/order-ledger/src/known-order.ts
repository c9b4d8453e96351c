import { type OrderMessage, type OrderSnapshot } from '#libs/contracts';

/** Where in the input a message lies. */
export interface MessagePosition {
  partition: number;
  offset: number;
  /** Epoch milliseconds, of its record: the only thing by which messages of different partitions can be compared. */
  recordedAt: number;
}

/** Whether a message was sent before another, by its offset or else by its timestamp. */
export function isBefore(message: MessagePosition, other: MessagePosition): boolean {
  return message.partition === other.partition
    ? message.offset < other.offset
    : message.recordedAt < other.recordedAt;
}

/**
 * An order as last known: all it takes to place its operations again. Of a finished one only its
 * status, its time and the sender's count are kept, so that no older message brings it back.
 */
export interface KnownOrder extends Omit<OrderSnapshot, 'orderId'> {
  /** Machines that have it on their list. */
  machineIds: readonly string[];
  /** The message it comes from. */
  from: MessagePosition;
}

export function toKnownOrder(
  order: OrderSnapshot,
  machineIds: readonly string[],
  from: MessagePosition,
): KnownOrder {
  const { changedAt, status, fence } = order;
  // Written out: this runs for every order, and to spread objects takes several times as long.
  const known: KnownOrder = isFinished(order)
    ? { changedAt, from, status, operations: [], machineIds: [] }
    : { changedAt, from, status, operations: order.operations, machineIds };
  if (fence !== undefined) known.fence = fence;
  return known;
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

function isOver(status: OrderSnapshot['status']): boolean {
  return status === 'completed' || status === 'cancelled';
}
