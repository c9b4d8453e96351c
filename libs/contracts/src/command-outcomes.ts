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
}

/** Value of `machine.command-outcomes.v1`. */
export interface CommandOutcome {
  /** null when the message names no readable machine. */
  machineId: string | null;
  source: OutcomeSource;
  /** Only for rejected ones. */
  code: RejectionCode | null;
  detail: string | null;
  /** Calls made to the service for it. */
  attempts: number;
  /** Epoch seconds; null unless applied. */
  appliedAt: number | null;
  /** The list that was applied, its first {@link MAX_OUTCOME_ORDERS}; of applied lists alone. */
  workingOrders?: readonly string[];
}

/** A list may have ten thousand entries: an outcome is there to say what is worked on. */
export const MAX_OUTCOME_ORDERS = 100;
