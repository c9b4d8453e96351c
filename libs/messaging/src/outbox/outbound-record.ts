import { type IHeaders } from '../kafkajs.js';

/** A record on its way to Kafka. */
export interface OutboundRecord {
  /** Full name, prefix included. */
  topic: string;
  key: Buffer | string | null;
  value: Buffer | string | null;
  headers: IHeaders;
  /** Whose hash shares the record out; without it, the key's. */
  partitionKey?: string;
  /** Only where the partition is not left to a hash. */
  partition?: number;
}
