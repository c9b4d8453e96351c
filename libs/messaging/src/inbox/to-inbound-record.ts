import { type IHeaders, type KafkaMessage } from '../kafkajs.js';
import { type InboundRecord } from './inbound-message.js';

/** A fetched record under its topic's name without the prefix. Its bytes are its own: see decodeRecord. */
export function toInboundRecord(
  topic: string,
  partition: number,
  message: KafkaMessage,
): InboundRecord {
  const { timestamp, key, value, headers = {} } = message;
  return {
    topic,
    partition,
    offset: Number(message.offset),
    timestamp,
    key,
    value,
    headers,
    bytes: lengthOf(key) + lengthOf(value) + lengthOfHeaders(headers),
  };
}

function lengthOfHeaders(headers: IHeaders): number {
  let bytes = 0;
  for (const [name, value] of Object.entries(headers)) {
    const values = Array.isArray(value) ? value : [value ?? null];
    bytes += values.reduce((sum, one) => sum + lengthOf(one), name.length);
  }
  return bytes;
}

function lengthOf(part: Buffer | string | null): number {
  return part?.length ?? 0;
}
