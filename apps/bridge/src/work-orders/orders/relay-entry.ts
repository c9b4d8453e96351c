import { type OrderMessage, type OutcomeSource } from '#libs/contracts';
import { type AnsweredMessage } from '../../command-delivery/index.js';
import { ownKey } from '../own-key.js';
import { type RelayEntry } from './order-entries.js';
import { type HomeOf } from './order-homes.js';
import { relayRecord } from './relayed-orders.js';

/** A message of the input, and the orders it tells of. */
export interface ReadMessage {
  answered: AnsweredMessage;
  source: OutcomeSource;
  /** Epoch milliseconds, of its record. */
  recordedAt: number;
  orders: readonly OrderMessage[];
}

/**
 * What takes the orders of a message to their homes; undefined where that is here for all of them. Else those
 * of here go the same way: what becomes of the message is known when all have reported.
 */
export function relayEntryOf(
  { answered, source, recordedAt, orders }: ReadMessage,
  homeOf: HomeOf,
  topicPrefix: string,
): RelayEntry | undefined {
  const { message } = answered;
  const { partition } = message;
  if (orders.every(({ order }) => homeOf(order.orderId) === partition)) return undefined;
  const byHome = new Map<number, OrderMessage[]>();
  for (const each of orders) {
    const home = homeOf(each.order.orderId);
    const others = byHome.get(home);
    if (others === undefined) byHome.set(home, [each]);
    else others.push(each);
  }
  const gathering = ownKey('gathering');
  const records = [...byHome].map(([home, part], index) =>
    relayRecord(topicPrefix, home, {
      ...{ kind: 'orders', orders: part, source, recordedAt },
      reportTo: { partition, gathering, part: index, parts: byHome.size },
    }),
  );
  return { kind: 'relay', message, answered, source, gathering, records };
}
