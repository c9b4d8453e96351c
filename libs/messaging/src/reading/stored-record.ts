import { type IHeaders } from '../kafkajs.js';

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
  /** A header without a value, which kafkajs could not write again, has an empty one. */
  readonly headers: IHeaders;
}
