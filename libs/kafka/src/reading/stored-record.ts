import type { MessageHeaders } from '#libs/contracts';
import type { MessageSpan } from '#libs/tracing';
import type { FetchedRecord } from '../client/kafka-port.js';

export interface RecordPlace {
  /** Full name, prefix included. */
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

export interface StoredRecord extends RecordPlace {
  /** Milliseconds since the epoch, decimal digits. */
  readonly timestamp: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: MessageHeaders;
}

/** A record of an input topic. It may be read each time it is asked for something, so it must not be spread. */
export interface InboundRecord extends StoredRecord, Pick<FetchedRecord, 'bytes' | 'unreadable'> {
  /** Without the prefix. */
  readonly topic: string;
  /** Of a message in flight: its way through the bridge. */
  readonly span?: MessageSpan;
}

/** A fetched record, read as a whole: it may be spread, and be kept for long. */
export function toStoredRecord(
  topic: string,
  partition: number,
  record: FetchedRecord,
): StoredRecord {
  const { position: offset, timestamp, key, value, headerList: headers } = record;
  return { topic, partition, offset, timestamp, key, value, headers };
}
