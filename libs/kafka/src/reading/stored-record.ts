import type { MessageHeaders } from '#libs/contracts';
import type { MessageSpan } from '#libs/tracing';
import type { FetchedRecord } from '../client/kafka-port.js';

export interface RecordPlace {
  /** Full name, with the prefix. */
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

/** Names a partition, in texts and as a key of maps. */
export function partitionName(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}

export interface StoredRecord extends RecordPlace {
  /** Epoch milliseconds in decimal digits. */
  readonly timestamp: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: MessageHeaders;
}

/** A record of an input topic. Its fields may be decoded on each access, so it must not be spread. */
export interface InboundRecord extends StoredRecord, Pick<FetchedRecord, 'bytes' | 'unreadable'> {
  /** Without the prefix. */
  readonly topic: string;
  /** Trace of a message in flight. */
  readonly span?: MessageSpan;
}

/** Decodes a whole record, which may be spread and kept. */
export function toStoredRecord(
  topic: string,
  partition: number,
  record: FetchedRecord,
): StoredRecord {
  const { position: offset, timestamp, key, value, headerList: headers } = record;
  return { topic, partition, offset, timestamp, key, value, headers };
}
