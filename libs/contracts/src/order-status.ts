import { isBlank, type ProblemOf } from './message-fields.js';

export const ORDER_STATUSES = [
  'planned',
  'released',
  'started',
  'held',
  'completed',
  'cancelled',
] as const;

export type OrderStatus = (typeof ORDER_STATUSES)[number];

export const orderStatus: ProblemOf = (value) =>
  ORDER_STATUSES.some((status) => status === value)
    ? undefined
    : `must be one of ${ORDER_STATUSES.join(', ')}`;

export const optionalOrderStatus: ProblemOf = (value) =>
  isBlank(value) ? undefined : orderStatus(value);

export function isOver(status: OrderStatus): boolean {
  return status === 'completed' || status === 'cancelled';
}
