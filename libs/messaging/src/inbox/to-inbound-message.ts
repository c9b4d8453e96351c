import { type IHeaders, type KafkaMessage } from 'kafkajs';
import { type QueuedMessage } from './partition-queue.js';

/** A fetched record under its topic's name without the prefix. */
export function toInboundMessage(
  topic: string,
  partition: number,
  message: KafkaMessage,
): QueuedMessage {
  const { key, value, timestamp } = message;
  const headers = readableHeaders(message.headers ?? {});
  return { topic, partition, offset: Number(message.offset), timestamp, key, value, headers };
}

/**
 * kafkajs reads headers that it cannot write: a null value, which other clients may send, and what a
 * header named like a property of every object (`constructor`) inherits. A null becomes an empty
 * value, what is inherited goes; anything else stays as it came.
 */
function readableHeaders(headers: Readonly<Record<string, unknown>>): IHeaders {
  const readable = Object.create(null) as IHeaders;
  for (const [name, value] of Object.entries(headers)) {
    if (!Array.isArray(value)) readable[name] = isHeaderValue(value) ? value : EMPTY;
    else readable[name] = value.flatMap((item: unknown) => headerItem(item));
  }
  return readable;
}

const EMPTY = Buffer.alloc(0);

function headerItem(item: unknown): Buffer | string | Buffer[] {
  if (isHeaderValue(item)) return item;
  return item === null ? EMPTY : [];
}

function isHeaderValue(value: unknown): value is Buffer | string {
  return typeof value === 'string' || Buffer.isBuffer(value);
}
