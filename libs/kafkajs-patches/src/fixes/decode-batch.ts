import { createRequire } from 'node:module';
import { type BatchContext, type DecodedRecord } from './decoded-record.js';
import { RecordCutter } from './record-cutter.js';
import { batchUnpacker, tooLarge } from './unpack-batch.js';
import {
  UnreadableBatchError,
  type UnreadableRecord,
  unreadableRecords,
} from './unreadable-batch.js';

/** As much of kafkajs's decoder as reading goes by. */
export interface Fetched {
  buffer: Buffer;
  offset: number;
  /** What the batches read so far have been unpacked to. */
  unpackedBytes?: number;
}

/** A record batch as kafkajs hands it on. */
export interface DecodedBatch extends BatchContext {
  partitionLeaderEpoch: number;
  inTransaction: boolean;
  isControlBatch: boolean;
  lastOffsetDelta: number;
  producerId: string;
  producerEpoch: number;
  firstSequence: number;
  records: { offset: string }[];
}

const require = createRequire(import.meta.url);
/** Recognised by its name: a fetch has a limit, and may end within a batch. */
export const { KafkaJSPartialMessageError } = require('kafkajs/src/errors.js') as {
  KafkaJSPartialMessageError: new (message: string) => Error;
};

/** First offset and length, which a batch's own length leaves out. */
const PREFIX_BYTES = 12;
const COUNT_AT = 45;
const RECORDS_AT = 49;
const LOG_APPEND_TIME = 0x08;
const IN_TRANSACTION = 0x10;
const CONTROL = 0x20;
const CODEC = 0x07;
/**
 * Producers that compress well pack tens of thousands of short messages into a batch of 1 MB; a hundred thousand more
 * than they are. Each costs memory beside its bytes.
 */
const MAX_RECORDS = 100_000;
/**
 * Of the bytes that a batch may unpack to, what {@link MAX_RECORDS} records leave. Bytes are kept until their record is
 * done, and each record leaves garbage: 57 MiB in 50,000 records, all rejected, grew the process by 310 MB.
 */
const LEAST_SHARE = 0.25;

/**
 * Reads a record batch (magic 2). One that cannot be read, because it is too large once it is unpacked or damaged, yields
 * an {@link UnreadableRecord} in place of each record.
 *
 * @throws KafkaJSPartialMessageError when the fetch ends within it
 */
export async function decodeBatch(fetched: Fetched): Promise<DecodedBatch> {
  const { buffer, offset: start } = fetched;
  const length = buffer.readInt32BE(start + 8);
  const bytes = buffer.subarray(start + PREFIX_BYTES, start + PREFIX_BYTES + length);
  fetched.offset = start + PREFIX_BYTES + length;
  if (bytes.length < length) {
    throw new KafkaJSPartialMessageError(`${bytes.length} of a record batch's ${length} bytes`);
  }
  const context = contextOf(bytes, String(buffer.readBigInt64BE(start)), bytes.readInt16BE(9));
  try {
    return { ...context, records: await decodeRecords(bytes, context, fetched) };
  } catch (error) {
    if (!(error instanceof UnreadableBatchError)) throw error;
    return { ...context, records: unreadableRecords(context, error, length + PREFIX_BYTES) };
  }
}

function contextOf(
  bytes: Buffer,
  firstOffset: string,
  attributes: number,
): Omit<DecodedBatch, 'records' | 'magicByte'> {
  return {
    firstOffset,
    firstTimestamp: String(bytes.readBigInt64BE(15)),
    partitionLeaderEpoch: bytes.readInt32BE(0),
    inTransaction: (attributes & IN_TRANSACTION) > 0,
    isControlBatch: (attributes & CONTROL) > 0,
    lastOffsetDelta: bytes.readInt32BE(11),
    producerId: String(bytes.readBigInt64BE(31)),
    producerEpoch: bytes.readInt16BE(39),
    firstSequence: bytes.readInt32BE(41),
    maxTimestamp: String(bytes.readBigInt64BE(23)),
    timestampType: (attributes & LOG_APPEND_TIME) > 0 ? 1 : 0,
  };
}

/** How many records the next batch claims to have. */
export function recordsOfNext({ buffer, offset }: Fetched): number {
  return buffer.readInt32BE(offset + PREFIX_BYTES + COUNT_AT);
}

async function decodeRecords(
  bytes: Buffer,
  context: Omit<DecodedBatch, 'records'>,
  fetched: Fetched,
): Promise<(DecodedRecord | UnreadableRecord)[]> {
  const count = bytes.readInt32BE(COUNT_AT);
  if (count > MAX_RECORDS) throw tooLarge(`has ${count} records, more than ${MAX_RECORDS}`);
  if (count <= 0) return [];
  const magicByte = bytes.readInt8(4);
  const cutter = new RecordCutter(count, { ...context, magicByte });
  const records = bytes.subarray(RECORDS_AT);
  const codec = bytes.readInt16BE(9) & CODEC;
  if (codec !== 0) {
    const share = 1 - (1 - LEAST_SHARE) * (count / MAX_RECORDS);
    await batchUnpacker.unpack({ codec, packed: records, share }, (piece) => {
      fetched.unpackedBytes = (fetched.unpackedBytes ?? 0) + piece.length;
      cutter.push(piece);
    });
  } else {
    cutter.push(records);
  }
  return cutter.end();
}
