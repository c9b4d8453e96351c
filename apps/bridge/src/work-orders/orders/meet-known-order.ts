import { type OrderSnapshot } from '#libs/contracts';
import { type KnownOrder } from './known-order.js';

export type Meeting =
  /** It says less than is known already. */
  | { kind: 'superseded'; knownChangedAt: number }
  /** Delivered again, and what has come after it is known: `order` is that. */
  | { kind: 'repeated'; order: OrderSnapshot }
  | { kind: 'recorded'; order: OrderSnapshot };

/**
 * What an order is, now that a message has told of it. As old as what is known counts as newer: an ERP
 * may change an order twice in a second. But not when the message lies before the one that told what is
 * known: then it is delivered again, and would bring back what the later one has changed.
 */
export function meetKnownOrder(
  known: KnownOrder | undefined,
  told: OrderSnapshot,
  offset: number,
): Meeting {
  if (known === undefined || told.changedAt > known.changedAt) {
    return { kind: 'recorded', order: told };
  }
  const { changedAt, status, operations } = known;
  if (told.changedAt < changedAt) return { kind: 'superseded', knownChangedAt: changedAt };
  if (offset >= known.offset) return { kind: 'recorded', order: told };
  return { kind: 'repeated', order: { orderId: told.orderId, changedAt, status, operations } };
}
