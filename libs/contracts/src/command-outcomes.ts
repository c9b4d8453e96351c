import type { RejectionCode } from './rejection.js';

/** `ce_type` values on `machine.command-outcomes.v1`. */
export const OUTCOME_TYPES = {
  workOrderListApplied: 'work-order-list.applied.v1',
  workOrderListSuperseded: 'work-order-list.superseded.v1',
  workOrderListRejected: 'work-order-list.rejected.v1',
  workOrderListDeferred: 'work-order-list.deferred.v1',
  downtimeReasonApplied: 'downtime-reason.applied.v1',
  downtimeReasonRejected: 'downtime-reason.rejected.v1',
  downtimeReasonDeferred: 'downtime-reason.deferred.v1',
} as const;

export type OutcomeType = (typeof OUTCOME_TYPES)[keyof typeof OUTCOME_TYPES];

/** Where the input message stands. */
export interface OutcomeSource {
  topic: string;
  partition: number;
  offset: number;
  /** The input's `ce_id` or `message-id` header. */
  messageId: string | null;
  /** The sender that ingest has named in the input's header `ingest-sender`; absent of any other input. */
  sender?: string | undefined;
}

/** Value of `machine.command-outcomes.v1`. */
export interface CommandOutcome {
  /** null when the message names no readable machine. */
  machineId: string | null;
  /** The order of an order message; absent where none is readable. */
  orderId?: string | undefined;
  source: OutcomeSource;
  /** Only for rejected ones. */
  code: RejectionCode | null;
  detail: string | null;
  /** Calls made to the service for it. */
  attempts: number;
  /** Epoch seconds; null unless applied. */
  appliedAt: number | null;
  /** The list that was applied, its first {@link MAX_OUTCOME_ORDERS}; of applied lists alone. */
  workingOrders?: readonly string[] | undefined;
}

/** A list may have ten thousand entries: an outcome is there to say what is worked on. */
export const MAX_OUTCOME_ORDERS = 100;

/**
 * An outcome as `JSON.stringify` writes it. By hand, for every message has one: the shape is known, and only
 * what others have named needs escaping. It takes half as long.
 */
export function outcomeJson(outcome: CommandOutcome): string {
  const { machineId, orderId, source, code, detail, attempts, appliedAt, workingOrders } = outcome;
  const { topic, partition, offset, messageId, sender } = source;
  return (
    `{"machineId":${quoted(machineId)},` +
    (orderId === undefined ? '' : `"orderId":${quoted(orderId)},`) +
    `"source":{"topic":${quoted(topic)},"partition":${partition},` +
    `"offset":${offset},"messageId":${quoted(messageId)}` +
    (sender === undefined ? '' : `,"sender":${quoted(sender)}`) +
    `},"code":${quoted(code)},` +
    `"detail":${quoted(detail)},"attempts":${attempts},"appliedAt":${appliedAt}` +
    (workingOrders === undefined ? '}' : `,"workingOrders":${JSON.stringify(workingOrders)}}`)
  );
}

/** Nothing that JSON escapes: most identifiers are such, and need not be read a second time. */
const PLAIN = /^[\w .:/-]*$/;

/** A string in JSON, or null. */
export function quoted(text: string | null | undefined): string {
  // Of what was read from a topic of the bridge's own, which others may have written to, a field may be missing.
  if (text == null) return 'null';
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}
