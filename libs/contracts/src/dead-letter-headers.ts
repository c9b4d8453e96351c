import { printable, type RejectionCode } from './rejection.js';

export const DEAD_LETTER_HEADERS = {
  code: 'dlq-code',
  detail: 'dlq-detail',
  sourceTopic: 'dlq-source-topic',
  sourcePartition: 'dlq-source-partition',
  sourceOffset: 'dlq-source-offset',
  sourceTimestamp: 'dlq-source-timestamp',
  failedAt: 'dlq-failed-at',
  attempts: 'dlq-attempts',
  httpStatus: 'dlq-http-status',
  machineIds: 'dlq-machine-ids',
  /** W3C Trace Context of the bridge's part in the trace, in which it was rejected. */
  traceparent: 'dlq-traceparent',
  /** How many bytes were left out, where a value was too large for the dead-letter topic. */
  valueOmitted: 'dlq-value-omitted',
} as const;

/**
 * Headers that `dlq replay` adds to the message it puts back. They stay with the message, so that the dead letter it
 * may become again carries them.
 */
export const REPLAY_HEADERS = {
  /** How often the message has been replayed. */
  count: 'dlq-replay-count',
  /** By whom last. */
  by: 'dlq-replayed-by',
} as const;

export interface DeadLetter {
  code: RejectionCode;
  detail: string;
  sourceTopic: string;
  partition: number;
  offset: string;
  /** The record's own timestamp as Kafka gives it: milliseconds, decimal digits. */
  timestamp: string;
  /** Epoch seconds. */
  failedAt: number;
  /** Calls made to the service before it was given up. */
  attempts: number;
  httpStatus?: number;
  /** The machines at fault, of a message that names several. */
  machineIds?: readonly string[];
  /** Unless it is that of the message. */
  traceparent?: string;
}

/**
 * Headers added to a dead letter. `dlq-machine-ids` separates the ids by commas; a comma or a per cent sign
 * inside an id is percent-encoded.
 */
export function deadLetterHeaders(deadLetter: DeadLetter): Record<string, string> {
  const headers: Record<string, string> = {
    [DEAD_LETTER_HEADERS.code]: deadLetter.code,
    [DEAD_LETTER_HEADERS.detail]: printable(deadLetter.detail),
    [DEAD_LETTER_HEADERS.sourceTopic]: deadLetter.sourceTopic,
    [DEAD_LETTER_HEADERS.sourcePartition]: String(deadLetter.partition),
    [DEAD_LETTER_HEADERS.sourceOffset]: deadLetter.offset,
    [DEAD_LETTER_HEADERS.sourceTimestamp]: deadLetter.timestamp,
    [DEAD_LETTER_HEADERS.failedAt]: String(deadLetter.failedAt),
    [DEAD_LETTER_HEADERS.attempts]: String(deadLetter.attempts),
  };
  if (deadLetter.httpStatus !== undefined) {
    headers[DEAD_LETTER_HEADERS.httpStatus] = String(deadLetter.httpStatus);
  }
  if (deadLetter.machineIds !== undefined) {
    headers[DEAD_LETTER_HEADERS.machineIds] = deadLetter.machineIds.map(escapeComma).join(',');
  }
  if (deadLetter.traceparent !== undefined) {
    headers[DEAD_LETTER_HEADERS.traceparent] = deadLetter.traceparent;
  }
  return headers;
}

function escapeComma(machineId: string): string {
  return machineId.replace(/[%,]/g, encodeURIComponent);
}
