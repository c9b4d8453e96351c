import { type OrderMessage, type OrderSnapshot } from '#libs/contracts';
import {
  isSame,
  isSameRecord,
  type MessagePlace,
  type MessagePosition,
} from './message-position.js';

/**
 * An order as last known: all it takes to place its operations again. Of a finished one only its
 * status, its time and the sender's count are kept, so that no older message brings it back.
 */
export interface KnownOrder extends Omit<OrderSnapshot, 'orderId'> {
  /** Machines that have it on their list. */
  machineIds: readonly string[];
  /** The message it comes from. */
  from: MessagePosition;
  /** Those that it was taken in from before, latest first: what they brought is answered as it was, should they come again. */
  earlier?: readonly MessagePlace[];
}

/** As many as come at most while a process that has died is still waited for. */
const MAX_EARLIER = 32;

export function toKnownOrder(
  order: OrderSnapshot,
  machineIds: readonly string[],
  from: MessagePosition,
  before?: KnownOrder,
): KnownOrder {
  const { changedAt, status, fence } = order;
  // Written out: this runs for every order, and to spread objects takes several times as long.
  const known: KnownOrder = isFinished(order)
    ? { changedAt, from, status, operations: [], machineIds: [] }
    : { changedAt, from, status, operations: order.operations, machineIds };
  if (fence !== undefined) known.fence = fence;
  const earlier = before && earlierThan(from, before);
  if (earlier !== undefined) known.earlier = earlier;
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

/** Whether the message was taken in before others, and is delivered again. */
export function wasTakenIn(message: MessagePlace, { earlier }: KnownOrder): boolean {
  return earlier?.some((each) => isSame(message, each)) === true;
}

/** Whether the ledger has it from the very record: what it changed on machines was written together with that. */
export function isWrittenFrom(message: MessagePosition, known: KnownOrder): boolean {
  const { from } = known;
  // one that lies where another lay in a topic made anew is younger than what is known
  const isOlder = message.recordedAt <= from.recordedAt;
  return isSameRecord(message, from) || (isOlder && wasTakenIn(message, known));
}

function earlierThan(
  message: MessagePosition,
  { from, earlier }: KnownOrder,
): readonly MessagePlace[] | undefined {
  if (isSame(message, from)) return earlier;
  const { partition, offset } = from;
  return [{ partition, offset }, ...(earlier ?? [])].slice(0, MAX_EARLIER);
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
