import { DEAD_LETTER_HEADERS } from './dead-letter-headers.js';
import { headerText, type MessageHeaders } from './envelope.js';

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
    machineIds: text('machineIds')?.split(',').map(unescaped),
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

function unescaped(machineId: string): string {
  try {
    return decodeURIComponent(machineId);
  } catch {
    return machineId;
  }
}
