import { type MessageHeaders } from '#libs/contracts';
import { type RecordRefusedError } from './record-refused.js';

/** A record on its way to Kafka. */
export interface OutboundRecord {
  /** Full name, prefix included. */
  topic: string;
  key: Buffer | string | null;
  value: Buffer | string | null;
  /** An object for the bridge's own headers, a list for those that it forwards. */
  headers: MessageHeaders | Readonly<Record<string, string>>;
  /** Chooses the partition by its hash; without it, the key does. */
  partitionKey?: string;
  /** Only where no hash chooses the partition. */
  partition?: number;
  /** Epoch milliseconds in decimal digits; without it, when it is sent. */
  timestamp?: string;
  /** A record of state: it overtakes none of the same key, whatever topics others wait for. */
  isState?: true;
  /** What to write in its place where it is refused; without it, it must be written as it is or not at all. */
  leaner?: (refusal: RecordRefusedError) => OutboundRecord;
}
