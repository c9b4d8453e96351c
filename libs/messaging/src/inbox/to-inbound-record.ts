import { type IHeaders, type KafkaMessage } from 'kafkajs';
import { type InboundRecord } from './inbound-message.js';

/**
 * A fetched record under its topic's name without the prefix. Key and value are copied: what kafkajs
 * hands out are windows into the whole fetch, which one message that waits for long would keep alive.
 */
export function toInboundRecord(
  topic: string,
  partition: number,
  message: KafkaMessage,
): InboundRecord {
  const { timestamp } = message;
  const key = copyOf(message.key);
  const value = copyOf(message.value);
  const { headers, bytes } = readableHeaders(message.headers);
  return {
    topic,
    partition,
    offset: Number(message.offset),
    timestamp,
    key,
    value,
    headers,
    bytes: bytes + (key?.length ?? 0) + (value?.length ?? 0),
  };
}

const EMPTY = Buffer.alloc(0);
const NO_HEADERS = { headers: Object.freeze(Object.create(null)) as IHeaders, bytes: 0 };

function copyOf(window: Buffer | null): Buffer | null {
  return window === null ? null : Buffer.from(window);
}

/**
 * kafkajs reads headers that it cannot write: a null value, which other clients may send, and what a
 * header named like a property of every object (`constructor`) inherits. A null becomes an empty
 * value, what is inherited goes; anything else stays as it came.
 */
function readableHeaders(headers: Readonly<Record<string, unknown>> | undefined): {
  headers: IHeaders;
  bytes: number;
} {
  const names = Object.keys(headers ?? {});
  if (headers === undefined || names.length === 0) return NO_HEADERS;
  const readable = Object.create(null) as IHeaders;
  let bytes = 0;
  for (const name of names) {
    const value = headers[name];
    const own = Array.isArray(value)
      ? value.flatMap((item: unknown) => headerItem(item))
      : headerValue(value);
    readable[name] = own;
    bytes += name.length + lengthOf(own);
  }
  return { headers: readable, bytes };
}

function headerItem(item: unknown): (Buffer | string)[] {
  if (isHeaderValue(item)) return [detached(item)];
  return item === null ? [EMPTY] : [];
}

function headerValue(value: unknown): Buffer | string {
  return isHeaderValue(value) ? detached(value) : EMPTY;
}

function detached(value: Buffer | string): Buffer | string {
  return typeof value === 'string' ? value : Buffer.from(value);
}

function lengthOf(value: Buffer | string | (Buffer | string)[]): number {
  if (!Array.isArray(value)) return value.length;
  return value.reduce((sum, item) => sum + item.length, 0);
}

function isHeaderValue(value: unknown): value is Buffer | string {
  return typeof value === 'string' || Buffer.isBuffer(value);
}
