import { createRequire } from 'node:module';
import { type MessageFields } from '../speed/record-layout.js';

/** What kafkajs writes a record of. */
export interface RecordFields extends Omit<MessageFields, 'timestamp'> {
  offsetDelta?: number;
  /** Milliseconds after the batch's first record; below zero for a record older than that. */
  timestampDelta?: number;
}

const byKafkajs = createRequire(import.meta.url)(
  'kafkajs/src/protocol/recordBatch/record/v0/index.js',
) as (record: RecordFields) => { buffer: Buffer };

/** A record of a record batch (magic 2), its length before it. */
export function encodeRecord(record: RecordFields): Buffer {
  return byKafkajs(record).buffer;
}
