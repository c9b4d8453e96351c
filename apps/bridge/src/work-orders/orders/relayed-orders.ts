import { type OrderMessage, type OutcomeSource } from '#libs/contracts';
import { type OutboundRecord } from '#libs/messaging';
import { ownKey } from '../own-key.js';
import { type GatheredOrders } from './gathered-orders.js';

/**
 * Without the prefix: orders that came through another partition than their home, on their way there, and on
 * the way back what became of them. Each record has a key of its own: the topic is compacted, and keeps it until
 * there is a tombstone for it.
 */
export const RELAYED_ORDERS = 'machine-bridge.relayed-orders.v1';

/** Where to report what became of a part of a message. */
export interface ReportTo {
  /** The partition the message came through. */
  partition: number;
  /** Of this attempt to have the message taken in, by this process. */
  gathering: string;
  /** The first is 0. */
  part: number;
  /** How many there are. */
  parts: number;
}

/** What one message tells of the orders that are at home in one partition. */
export interface RelayedOrders {
  kind: 'orders';
  /** In the order of the document. */
  orders: readonly OrderMessage[];
  /** The message that told of them. */
  source: OutcomeSource;
  /** Epoch milliseconds, of that message's record. */
  recordedAt: number;
  reportTo: ReportTo;
}

/** What became of them. */
export interface RelayReport {
  kind: 'report';
  of: ReportTo;
  said: GatheredOrders;
}

/** @param home of the orders */
export function relayRecord(
  topicPrefix: string,
  home: number,
  relayed: RelayedOrders,
): OutboundRecord {
  return recordOf(topicPrefix, home, relayed);
}

export function reportRecord(topicPrefix: string, report: RelayReport): OutboundRecord {
  return recordOf(topicPrefix, report.of.partition, report);
}

function recordOf(
  topicPrefix: string,
  partition: number,
  content: RelayedOrders | RelayReport,
): OutboundRecord {
  return {
    topic: `${topicPrefix}${RELAYED_ORDERS}`,
    partition,
    key: ownKey(content.kind),
    value: JSON.stringify(content),
    headers: {},
  };
}

/** The bridge alone writes these; undefined for what is none of them. */
export function parseRelayed(value: Buffer | null): RelayedOrders | RelayReport | undefined {
  try {
    const content = JSON.parse(value?.toString() ?? 'null') as
      Partial<RelayedOrders> | Partial<RelayReport> | null;
    if (content?.kind === 'orders' && Array.isArray(content.orders)) {
      return content as RelayedOrders;
    }
    return content?.kind === 'report' && typeof content.said === 'object'
      ? (content as RelayReport)
      : undefined;
  } catch {
    return undefined;
  }
}
