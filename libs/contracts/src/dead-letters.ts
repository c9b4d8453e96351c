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

export interface NewDeadLetter {
  code: RejectionCode;
  detail: string;
  sourceTopic: string;
  sourcePartition: number;
  sourceOffset: string;
  /** The record's own timestamp as Kafka gives it: milliseconds, decimal digits. */
  sourceTimestamp: string;
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
export function deadLetterHeaders(deadLetter: NewDeadLetter): Record<string, string> {
  const headers: Record<string, string> = {
    [DEAD_LETTER_HEADERS.code]: deadLetter.code,
    [DEAD_LETTER_HEADERS.detail]: printable(deadLetter.detail),
    [DEAD_LETTER_HEADERS.sourceTopic]: deadLetter.sourceTopic,
    [DEAD_LETTER_HEADERS.sourcePartition]: String(deadLetter.sourcePartition),
    [DEAD_LETTER_HEADERS.sourceOffset]: deadLetter.sourceOffset,
    [DEAD_LETTER_HEADERS.sourceTimestamp]: deadLetter.sourceTimestamp,
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

/** What the headers of a dead letter say; undefined what is absent or cannot be read. */
export interface DeadLetterFields {
  /** One of the rejection codes, unless another program has written the dead letter. */
  code: string | undefined;
  detail: string | undefined;
  /** Full name, prefix included. */
  sourceTopic: string | undefined;
  sourcePartition: number | undefined;
  sourceOffset: number | undefined;
  /** Milliseconds since the epoch, as Kafka has it. */
  sourceTimestamp: number | undefined;
  /** Epoch seconds. */
  failedAt: number | undefined;
  attempts: number | undefined;
  httpStatus: number | undefined;
  machineIds: readonly string[] | undefined;
  /** Bytes of the value missing from the dead letter. */
  valueOmittedBytes: number | undefined;
}

/** Reads back what `deadLetterHeaders` has written. */
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

/** The headers the message came with: all but those the bridge adds to a dead letter. */
export function originalHeaders(headers: MessageHeaders): MessageHeaders {
  return headers.filter(([name]) => !ADDED.has(name));
}

function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
