import { type OutcomeSource } from '#libs/contracts';
import { type OutboundRecord } from '#libs/messaging';
import { type RejectedResult } from '../../command-delivery/index.js';
import { type AssignmentChange } from '../assignments/assignment-change.js';
import { ownKey } from '../own-key.js';
import { RELAY_REPORTS } from './relay-reports.js';

/**
 * What an order led to has been refused at a machine: on its way back to the partition that the order's message came
 * through, whose owner alone sets that aside, once for all its machines.
 */
export interface OrderRefusal {
  /** The message that told of the order. */
  source: OutcomeSource;
  /** By which it is found where its topic no longer holds it. */
  key: string | null;
  faults: readonly RejectedResult[];
}

export function refusalRecord(
  topicPrefix: string,
  { source, orders, key = null }: AssignmentChange,
  faults: readonly RejectedResult[],
): OutboundRecord {
  const refused: OrderRefusal = { source, key: orders[0]?.orderId ?? key, faults };
  return {
    topic: `${topicPrefix}${RELAY_REPORTS}`,
    partition: source.partition,
    key: ownKey(`${source.partition}/${source.offset}`),
    value: JSON.stringify({ refused }),
    headers: {},
  };
}

/** The bridge alone writes these; undefined for what is none of them. */
export function parseOrderRefusal(value: Buffer | null): OrderRefusal | undefined {
  try {
    const json = JSON.parse(value?.toString() ?? 'null') as { refused?: OrderRefusal } | null;
    const refused = json?.refused;
    return typeof refused?.source === 'object' && Array.isArray(refused.faults)
      ? refused
      : undefined;
  } catch {
    return undefined;
  }
}
