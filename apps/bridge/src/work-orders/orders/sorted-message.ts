import { type OrderMessage, type OutcomeSource } from '#libs/contracts';
import { type OutboundRecord } from '#libs/messaging';
import { type AnsweredMessage } from '../../command-delivery/index.js';
import { ownKey } from '../own-key.js';
import { type HomeOf } from './homes.js';
import { relayRecord } from './relayed-orders.js';

/** A message of the input, and the orders it tells of. */
export interface ReadMessage {
  answered: AnsweredMessage;
  source: OutcomeSource;
  /** Epoch milliseconds, of its record. */
  recordedAt: number;
  orders: readonly OrderMessage[];
}

/** A message by where its orders are at home. */
export interface SortedMessage extends ReadMessage {
  /** Those of the partition it came through alone. */
  orders: readonly OrderMessage[];
  /** Undefined where there are no others. */
  relay: Relay | undefined;
}

interface Relay {
  gathering: string;
  /** One for each other home. */
  records: readonly OutboundRecord[];
}

export function sortByHome(
  message: ReadMessage,
  homeOf: HomeOf,
  topicPrefix: string,
): SortedMessage {
  const { answered, source, recordedAt, orders } = message;
  const { partition } = answered.message;
  if (orders.every(({ order }) => homeOf(order.orderId) === partition)) {
    return { answered, source, recordedAt, orders, relay: undefined };
  }
  const atHome: OrderMessage[] = [];
  const away = new Map<number, OrderMessage[]>();
  for (const each of orders) {
    const home = homeOf(each.order.orderId);
    const others = home === partition ? atHome : away.get(home);
    if (others === undefined) away.set(home, [each]);
    else others.push(each);
  }
  const gathering = ownKey('gathering');
  const records = [...away].map(([home, part], index) =>
    relayRecord(topicPrefix, home, {
      ...{ orders: part, source, recordedAt },
      reportTo: { partition, gathering, part: index + 1 },
    }),
  );
  return { ...message, orders: atHome, relay: { gathering, records } };
}
