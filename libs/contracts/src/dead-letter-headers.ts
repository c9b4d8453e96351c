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
  /** How many bytes were left out, where a value was too large for the dead-letter topic. */
  valueOmitted: 'dlq-value-omitted',
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
}

/**
 * Headers added to a dead letter. `dlq-machine-ids` separates the ids by commas; a comma or a per cent sign
 * inside an id is percent-encoded.
 */
export function deadLetterHeaders(letter: DeadLetter): Record<string, string> {
  const headers: Record<string, string> = {
    [DEAD_LETTER_HEADERS.code]: letter.code,
    [DEAD_LETTER_HEADERS.detail]: printable(letter.detail),
    [DEAD_LETTER_HEADERS.sourceTopic]: letter.sourceTopic,
    [DEAD_LETTER_HEADERS.sourcePartition]: String(letter.partition),
    [DEAD_LETTER_HEADERS.sourceOffset]: letter.offset,
    [DEAD_LETTER_HEADERS.sourceTimestamp]: letter.timestamp,
    [DEAD_LETTER_HEADERS.failedAt]: String(letter.failedAt),
    [DEAD_LETTER_HEADERS.attempts]: String(letter.attempts),
  };
  if (letter.httpStatus !== undefined) {
    headers[DEAD_LETTER_HEADERS.httpStatus] = String(letter.httpStatus);
  }
  if (letter.machineIds !== undefined) {
    headers[DEAD_LETTER_HEADERS.machineIds] = letter.machineIds.map(escapeComma).join(',');
  }
  return headers;
}

function escapeComma(machineId: string): string {
  return machineId.replace(/[%,]/g, encodeURIComponent);
}
