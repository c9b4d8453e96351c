import { type OrderMessage, type OutcomeSource } from '#libs/contracts';
import { type OutboundRecord } from '#libs/messaging';
import { ownKey } from '../own-key.js';
import { type ReportTo } from './relay-reports.js';

/**
 * Without the prefix: orders that came through another partition than their home, on their way there. Each record
 * has a key of its own: the topic is compacted, and keeps it until there is a tombstone for it.
 */
export const RELAYED_ORDERS = 'machine-bridge.relayed-orders.v1';

/** What one message tells of the orders that are at home in one partition. */
export interface RelayedOrders {
  /** In the order of the document. */
  orders: readonly OrderMessage[];
  /** The message that told of them. */
  source: OutcomeSource;
  /** Epoch milliseconds, of that message's record. */
  recordedAt: number;
  reportTo: ReportTo;
}

/** @param home of the orders */
export function relayRecord(
  topicPrefix: string,
  home: number,
  relayed: RelayedOrders,
): OutboundRecord {
  return {
    topic: `${topicPrefix}${RELAYED_ORDERS}`,
    partition: home,
    key: ownKey(`${relayed.source.partition}/${relayed.source.offset}`),
    value: JSON.stringify(relayed),
    headers: {},
  };
}

/** The bridge alone writes these; undefined for what is none of them. */
export function parseRelayedOrders(value: Buffer | null): RelayedOrders | undefined {
  try {
    const relayed = JSON.parse(value?.toString() ?? 'null') as Partial<RelayedOrders> | null;
    if (typeof relayed?.source !== 'object' || typeof relayed.reportTo !== 'object') {
      return undefined;
    }
    return Array.isArray(relayed.orders) ? (relayed as RelayedOrders) : undefined;
  } catch {
    return undefined;
  }
}
