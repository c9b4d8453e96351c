import { type OrderFence, type OrderSnapshot } from '#libs/contracts';

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

function isOver(status: OrderSnapshot['status']): boolean {
  return status === 'completed' || status === 'cancelled';
}
