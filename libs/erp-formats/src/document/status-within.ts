import type { OrderStatus } from '#libs/contracts';

/**
 * An operation's status in the frame of its order's: an order that is over ends its operations, an order
 * that is locked holds those that could be worked on; otherwise each operation speaks for itself.
 */
export function statusWithin(order: OrderStatus, operation: OrderStatus): OrderStatus {
  switch (order) {
    case 'cancelled':
      return 'cancelled';
    case 'completed':
      return operation === 'cancelled' ? 'cancelled' : 'completed';
    case 'held':
      return operation === 'released' || operation === 'started' ? 'held' : operation;
    case 'planned':
    case 'released':
    case 'started':
      return operation;
    default:
      return order satisfies never;
  }
}
