import { headerText, type MessageHeaders } from './envelope.js';
import { uriDecoded } from './message-fields.js';
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
  /** W3C Trace Context of the span in which the bridge rejected the message. */
  traceparent: 'dlq-traceparent',
  /** Size in bytes of a value that was left out because it was too large for the dead-letter topic. */
  valueOmitted: 'dlq-value-omitted',
} as const;

/**
 * Headers that `dlq replay` adds to the message that it writes back. If the message becomes a dead letter again, they
 * are among the headers of that dead letter.
 */
export const REPLAY_HEADERS = {
  /** How often the message has been replayed. */
  count: 'dlq-replay-count',
  /** Who replayed the message last. */
  by: 'dlq-replayed-by',
} as const;

export interface NewDeadLetter {
  code: RejectionCode;
  detail: string;
  sourceTopic: string;
  sourcePartition: number;
  sourceOffset: string;
  /** The record's timestamp from Kafka: milliseconds, decimal digits. */
  sourceTimestamp: string;
  /** Epoch seconds. */
  failedAt: number;
  /** Calls made to the service for the message. */
  attempts: number;
  httpStatus?: number;
  /** The machines at fault, where the message names several. */
  machineIds?: readonly string[];
  /** Absent where it equals that of the message. */
  traceparent?: string;
}

/**
 * Headers added to a dead letter. `dlq-machine-ids` separates the ids by commas; a comma or a per cent sign
 * inside an id is percent-encoded.
 */
export function deadLetterHeaders(deadLetter: NewDeadLetter): Record<string, string> {
  const { detail, machineIds } = deadLetter;
  const values: Partial<Record<string, string | number>> = {
    ...{ ...deadLetter, detail: printable(detail) },
    machineIds: machineIds?.map(escapeComma).join(','),
  };
  const headers: Record<string, string> = {};
  for (const [field, header] of Object.entries(DEAD_LETTER_HEADERS)) {
    if (values[field] !== undefined) headers[header] = String(values[field]);
  }
  return headers;
}

function escapeComma(machineId: string): string {
  return machineId.replace(/[%,]/g, encodeURIComponent);
}

/** The headers of a dead letter; undefined for those that are absent or cannot be read. */
export interface DeadLetterFields {
  /** A rejection code, unless another program has written the dead letter. */
  code: string | undefined;
  detail: string | undefined;
  /** Full name, prefix included. */
  sourceTopic: string | undefined;
  sourcePartition: number | undefined;
  sourceOffset: number | undefined;
  /** Kafka's timestamp of the message, in milliseconds since the epoch. */
  sourceTimestamp: number | undefined;
  /** Epoch seconds. */
  failedAt: number | undefined;
  attempts: number | undefined;
  httpStatus: number | undefined;
  machineIds: readonly string[] | undefined;
  /** Bytes of the value missing from the dead letter. */
  valueOmittedBytes: number | undefined;
}

/** Reads the headers that {@link deadLetterHeaders} has written. */
export function deadLetterFields(headers: MessageHeaders): DeadLetterFields {
  const text = (name: keyof typeof DEAD_LETTER_HEADERS): string | undefined =>
    headerText(headers, DEAD_LETTER_HEADERS[name]) ?? undefined;
  const count = (name: keyof typeof DEAD_LETTER_HEADERS): number | undefined =>
    wholeNumber(text(name));
  return {
    code: text('code'),
    detail: text('detail'),
    sourceTopic: text('sourceTopic'),
    sourcePartition: count('sourcePartition'),
    sourceOffset: count('sourceOffset'),
    sourceTimestamp: count('sourceTimestamp'),
    failedAt: count('failedAt'),
    attempts: count('attempts'),
    httpStatus: count('httpStatus'),
    machineIds: text('machineIds')?.split(',').map(uriDecoded),
    valueOmittedBytes: count('valueOmitted'),
  };
}

const ADDED = new Set<string>(Object.values(DEAD_LETTER_HEADERS));

/** The headers of the input message: those of the dead letter without the ones that the bridge adds. */
export function originalHeaders(headers: MessageHeaders): MessageHeaders {
  return headers.filter(([name]) => !ADDED.has(name));
}

function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
