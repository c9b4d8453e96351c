import type { OrderStatus } from '#libs/contracts';

/**
 * An operation's status given that of its order: a completed or cancelled order ends its operations, a held order holds
 * those that are released or started; otherwise the operation's own status applies.
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
