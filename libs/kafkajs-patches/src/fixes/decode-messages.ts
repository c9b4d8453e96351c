import {
  decodeBatch,
  type DecodedBatch,
  type Fetched,
  KafkaJSPartialMessageError,
  recordsOfNext,
} from './decode-batch.js';
import { type FetchedRecord, NO_HEADERS } from './decoded-record.js';

/** Reads a partition's part of a fetch: its size, and so many bytes. */
export type DecodeMessages = (fetched: Fetched) => Promise<DecodedBatch['records']>;

const SIZE_BYTES = 4;
const MAGIC_AT = 16;
const RECORD_BATCH = 2;
/** Without its records. */
const BATCH_BYTES = 61;
/**
 * Beyond this no further batch of a partition is unpacked, or of a whole fetch: what is left is fetched again. A queue
 * holds no more of a partition, and while much is unpacked no heartbeat is sent. Nor are more records of a partition
 * read at once, unless they are of one batch.
 */
const MOST_OF_PARTITION_BYTES = 8 * 1024 * 1024;
const MOST_OF_PARTITION_RECORDS = 25_000;
const MOST_OF_FETCH_BYTES = 192 * 1024 * 1024;

/** What has been unpacked of each fetch, by the buffer that all its partitions are read from. */
const unpackedOf = new WeakMap<Buffer, number>();

/**
 * Reads the record batches of a partition one by one, up to the bounds above: not all that is fetched need be unpacked
 * at once. kafkajs reads them all, and hands the records of each to `push` as arguments, of which a hundred thousand are
 * more than the stack holds. Messages in the formats before Kafka 0.11 are read by kafkajs.
 */
export function withBatchesOfAnySize(decodeMessages: DecodeMessages): DecodeMessages {
  return async (fetched) => {
    const start = fetched.offset + SIZE_BYTES;
    const end = start + fetched.buffer.readInt32BE(fetched.offset);
    const isComplete = end - start > MAGIC_AT && end <= fetched.buffer.length;
    if (!isComplete || fetched.buffer.readInt8(start + MAGIC_AT) !== RECORD_BATCH) {
      return ((await decodeMessages(fetched)) as LegacyMessage[]).map(fetchedRecord);
    }
    fetched.offset = end;
    const { buffer } = fetched;
    const batches: Fetched = { buffer: buffer.subarray(start, end), offset: 0, unpackedBytes: 0 };
    const before = unpackedOf.get(buffer) ?? 0;
    const records = await recordsOf(
      batches,
      Math.min(MOST_OF_PARTITION_BYTES, MOST_OF_FETCH_BYTES - before),
    );
    unpackedOf.set(buffer, before + (batches.unpackedBytes ?? 0));
    return records;
  };
}

/** A message in a format before Kafka 0.11, as kafkajs reads it. */
type LegacyMessage = DecodedBatch['records'][number] &
  Pick<FetchedRecord, 'timestamp' | 'key' | 'value'>;

/** These formats have no headers. */
function fetchedRecord(message: LegacyMessage): LegacyMessage & FetchedRecord {
  const { offset, key, value } = message;
  const bytes = (key?.length ?? 0) + (value?.length ?? 0);
  return { ...message, position: Number(offset), headerList: NO_HEADERS, bytes };
}

async function recordsOf(batches: Fetched, mostBytes: number): Promise<DecodedBatch['records']> {
  const all: DecodedBatch['records'] = [];
  while (batches.buffer.length - batches.offset >= BATCH_BYTES) {
    if ((batches.unpackedBytes ?? 0) >= mostBytes) break;
    if (all.length > 0 && all.length + recordsOfNext(batches) > MOST_OF_PARTITION_RECORDS) break;
    try {
      const batch = await decodeBatch(batches);
      for (const record of batch.records) all.push(record);
      const end = String(BigInt(batch.firstOffset) + BigInt(batch.lastOffsetDelta));
      if (batch.records.at(-1)?.offset !== end) all.push(endOf(batch, end));
    } catch (error) {
      if (error instanceof KafkaJSPartialMessageError) break;
      throw error;
    }
  }
  return all;
}

/**
 * Of a batch whose last records compaction has taken: what nobody is shown, and moves the position all the same, like the
 * marker of a transaction. Kafka keeps a batch with nothing in it for what it says of its producer. kafkajs by itself
 * takes an answer of such batches alone for the end of the partition, and fetches the same for ever.
 */
function endOf(batch: DecodedBatch, offset: string): DecodedBatch['records'][number] {
  const marker = { isControlRecord: true, batchContext: batch };
  return { ...marker, ...{ offset, key: null, value: null, headers: {} } };
}
