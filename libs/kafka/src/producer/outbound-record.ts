import { type MessageHeaders } from '#libs/contracts';
import { type RecordRefusedError } from './record-refused.js';

/** A record on its way to Kafka. */
export interface OutboundRecord {
  /** Full name, prefix included. */
  topic: string;
  key: Buffer | string | null;
  value: Buffer | string | null;
  /** By name what the bridge says itself; in a list what it passes on. */
  headers: MessageHeaders | Readonly<Record<string, string>>;
  /** Whose hash shares the record out; without it, the key's. */
  partitionKey?: string;
  /** Only where the partition is not left to a hash. */
  partition?: number;
  /** Epoch milliseconds in decimal digits; without it, when it is sent. */
  timestamp?: string;
  /** The latest of its key counts for good: none overtakes another of the same key, whatever topics those behind it wait for. */
  isState?: true;
  /** What to write in its place where it is refused; without it, it must be written as it is or not at all. */
  leaner?: (refusal: RecordRefusedError) => OutboundRecord;
}
