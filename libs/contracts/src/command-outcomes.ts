import type { Flow } from './flows.js';
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

/** Flows whose messages get outcomes. */
export type CommandFlow = Exclude<Flow, 'machine-states'>;

type OutcomeTypes = Readonly<
  Partial<Record<'applied' | 'superseded' | 'rejected' | 'deferred', OutcomeType>>
>;

/** `ce_type` by flow and outcome. */
export const OUTCOME_TYPE_OF: Readonly<Record<CommandFlow, OutcomeTypes>> = {
  'work-orders': {
    applied: OUTCOME_TYPES.workOrderListApplied,
    superseded: OUTCOME_TYPES.workOrderListSuperseded,
    rejected: OUTCOME_TYPES.workOrderListRejected,
    deferred: OUTCOME_TYPES.workOrderListDeferred,
  },
  'downtime-reasons': {
    applied: OUTCOME_TYPES.downtimeReasonApplied,
    rejected: OUTCOME_TYPES.downtimeReasonRejected,
    deferred: OUTCOME_TYPES.downtimeReasonDeferred,
  },
};

/** The input message of an outcome. */
export interface OutcomeSource {
  topic: string;
  partition: number;
  offset: number;
  /** The input's `ce_id` or `message-id` header. */
  messageId: string | null;
  /** The sender that ingest has named in the input's header `ingest-sender`; absent for any other input. */
  sender?: string | undefined;
}

/** Value of `machine.command-outcomes.v1`. */
export interface CommandOutcome {
  /** null when the message names no readable machine. */
  machineId: string | null;
  /** The order of an order message; absent where none is readable. */
  orderId?: string | undefined;
  source: OutcomeSource;
  /** Null unless rejected. */
  code: RejectionCode | null;
  detail: string | null;
  /** Calls made to the service for the message. */
  attempts: number;
  /** Epoch seconds; null unless applied. */
  appliedAt: number | null;
  /** The first {@link MAX_OUTCOME_ORDERS} entries of an applied list; absent for other outcomes. */
  workingOrders?: readonly string[] | undefined;
}

/** A list may have ten thousand entries; readers of an outcome need those that are worked on. */
export const MAX_OUTCOME_ORDERS = 100;

/**
 * Writes an outcome as `JSON.stringify` does, in half the time, because every message has one. The shape is known, and
 * only the names that others have given need escaping.
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

/** Characters that JSON does not escape. Most identifiers have no others and skip JSON.stringify. */
const PLAIN = /^[\w .:/-]*$/;

/** A string in JSON, or null. */
export function quoted(text: string | null | undefined): string {
  // a record of an internal topic may lack a field, because other programs may have written to the topic
  if (text == null) return 'null';
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}
