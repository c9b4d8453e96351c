import { type IHeaders } from 'kafkajs';

/** A record on its way to Kafka. */
export interface OutboundRecord {
  /** Full name, prefix included. */
  topic: string;
  key: Buffer | string | null;
  value: Buffer | string | null;
  headers: IHeaders;
  /** Only where the partition is not left to the key's hash. */
  partition?: number;
}
