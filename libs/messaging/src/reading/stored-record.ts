import { type IHeaders, type KafkaMessage } from '../kafkajs.js';

/** A record as it lies in Kafka. */
export interface StoredRecord {
  /** Full name, prefix included. */
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** Milliseconds since the epoch, decimal digits. */
  readonly timestamp: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** A header without a value, which kafkajs does not know, has an empty one. */
  readonly headers: IHeaders;
}

/** A fetched record, read as a whole: it may be spread, and be kept for long. */
export function toStoredRecord(
  topic: string,
  partition: number,
  message: KafkaMessage,
): StoredRecord {
  const { offset, timestamp, key, value, headers = {} } = message;
  return { topic, partition, offset: Number(offset), timestamp, key, value, headers };
}
