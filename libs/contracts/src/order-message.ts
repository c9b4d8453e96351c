import type { OrderChange } from './order-change.js';
import type { OrderSnapshot } from './order-snapshot.js';

/** What a sender says of one order: all of it as it now is, or what is new about it. */
export type OrderMessage =
  { kind: 'snapshot'; order: OrderSnapshot } | { kind: 'change'; order: OrderChange };
