import { type OrderSnapshot } from '#libs/contracts';
import { type MessagePosition } from './message-position.js';

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
