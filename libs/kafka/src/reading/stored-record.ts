import { type MessageHeaders } from '#libs/contracts';
import { DecodedRecord } from '#libs/kafkajs-patches';
import { type KafkaMessage } from '../client/kafka-port.js';

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
  readonly headers: MessageHeaders;
}

/** A fetched record, read as a whole: it may be spread, and be kept for long. */
export function toStoredRecord(
  topic: string,
  partition: number,
  message: KafkaMessage,
): StoredRecord {
  const { offset, timestamp, key, value } = message;
  // What kafkajs itself reads is in the formats before Kafka 0.11, which have none.
  const headers = message instanceof DecodedRecord ? message.headerList : [];
  return { topic, partition, offset: Number(offset), timestamp, key, value, headers };
}
