import type { OrderOperation } from './order-operation.js';
import type { OrderSnapshot } from './order-snapshot.js';
import { isOver, type OrderStatus } from './order-status.js';

/**
 * The operations of an order after a status of the order alone. What is done stays done, and what has been
 * started is not merely released. An order that is partly released says `released` for as long as some
 * operations are planned: so these follow it only from an order of which nothing was released.
 */
export function operationsUnderStatus(
  known: Pick<OrderSnapshot, 'status' | 'operations'>,
  status: OrderStatus,
): OrderOperation[] {
  const doPlannedFollow = !wasReleased(known);
  return known.operations.map((operation) =>
    operation.status === 'planned' && !doPlannedFollow && !isOver(status)
      ? operation
      : { ...operation, status: follow(operation.status, status) },
  );
}

function follow(operation: OrderStatus, order: OrderStatus): OrderStatus {
  if (isOver(operation)) return operation;
  switch (order) {
    case 'completed':
    case 'cancelled':
    case 'planned':
    case 'started':
      return order;
    case 'held':
      return operation === 'planned' ? 'planned' : 'held';
    case 'released':
      return operation === 'started' ? 'started' : 'released';
    default:
      return unknownStatus(order);
  }
}

/** Operations may have been released by messages of their own, which leave the order's status as it was. */
function wasReleased({
  status,
  operations,
}: Pick<OrderSnapshot, 'status' | 'operations'>): boolean {
  const isPutOff = status === 'planned' || status === 'held';
  return !isPutOff || operations.some((each) => !['planned', 'cancelled'].includes(each.status));
}

function unknownStatus(status: never): never {
  throw new Error(`unknown order status ${String(status)}`);
}
