import { createRequire } from 'node:module';
import {
  type BatchContext,
  Cursor,
  DecodedRecord,
  type FetchedRecord,
  NO_HEADERS,
  omittedRecord,
  UnreadableBatchError,
  type UnreadableRecord,
  unreadableRecords,
} from './fetched-record.js';
import { batchUnpacker, tooLarge } from './unpack-batch.js';

/** Decodes a partition's part of a fetch: its size, then as many bytes. */
export type DecodeMessages = (fetched: Fetched) => Promise<DecodedBatch['records']>;

const SIZE_BYTES = 4;
const MAGIC_AT = 16;
const RECORD_BATCH = 2;
/** Size of a batch without its records. */
const BATCH_BYTES = 61;
/**
 * Limits after which no further batch of a partition, or of a fetch, is unpacked; the rest is fetched again. They are
 * what a partition's buffer holds, and no heartbeat is sent during long unpacking. Nor are more records of a
 * partition read at once, unless one batch holds them.
 */
const MOST_OF_PARTITION_BYTES = 8 * 1024 * 1024;
const MOST_OF_PARTITION_RECORDS = 25_000;
const MOST_OF_FETCH_BYTES = 192 * 1024 * 1024;

/** Unpacked bytes of each fetch, by the buffer from which all its partitions are read. */
const unpackedOf = new WeakMap<Buffer, number>();

/**
 * Decodes the record batches of a partition one by one, up to the limits above: a fetch need not be unpacked at once.
 * kafkajs decodes all, and passes the records of each to `push` as arguments, of which 100,000 overflow the stack.
 * Messages in formats before Kafka 0.11 are decoded by kafkajs.
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

/** A message in a format before Kafka 0.11, as kafkajs decodes it. */
type LegacyMessage = DecodedBatch['records'][number] &
  Pick<FetchedRecord, 'timestamp' | 'key' | 'value'>;

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
      if (all.length > 0 || error instanceof KafkaJSPartialMessageError) break;
      throw error;
    }
  }
  return all;
}

/**
 * A control record at the end of a batch whose last records have been compacted away: consumers do not see it, but it
 * moves the position. Kafka keeps an empty batch for its producer's state. kafkajs alone takes an answer of empty
 * batches for the end of the partition, and fetches the same for ever.
 */
function endOf(batch: DecodedBatch, offset: string): DecodedBatch['records'][number] {
  const marker = { isControlRecord: true, batchContext: batch };
  return { ...marker, ...{ offset, key: null, value: null } };
}

/** The part of kafkajs's decoder that decoding needs. */
export interface Fetched {
  buffer: Buffer;
  offset: number;
  /** Unpacked size of the batches decoded so far. */
  unpackedBytes?: number;
}

/** A record batch in kafkajs's form. */
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
/** kafkajs recognises it by name: a fetch is limited, and may end within a batch. */
const { KafkaJSPartialMessageError } = require('kafkajs/src/errors.js') as {
  KafkaJSPartialMessageError: new (message: string) => Error;
};
const { createErrorFromCode } = require('kafkajs/src/protocol/error.js') as {
  createErrorFromCode: (code: number) => Error;
};
const CORRUPT_MESSAGE = 2;

/** First offset and length, which the length of a batch does not include. */
const PREFIX_BYTES = 12;
const COUNT_AT = 45;
const RECORDS_AT = 49;
const LOG_APPEND_TIME = 0x08;
const IN_TRANSACTION = 0x10;
const CONTROL = 0x20;
const CODEC = 0x07;
/** A megabyte packs tens of thousands of short messages, and each takes memory besides its bytes. */
const MAX_RECORDS = 100_000;
/**
 * Share of the unpacked bytes left to a batch of {@link MAX_RECORDS} records. Bytes are kept until their record is
 * finished, and each record leaves garbage: 57 MiB in 50,000 records, all rejected, grew the process by 310 MB.
 */
const LEAST_SHARE = 0.25;

/**
 * Decodes a record batch (magic 2). One that is too large once unpacked, or damaged, yields an {@link
 * UnreadableRecord} for each record. @throws KafkaJSPartialMessageError when the fetch ends within it, and
 * CORRUPT_MESSAGE if its length is damaged: no later batch can be found
 */
export async function decodeBatch(fetched: Fetched): Promise<DecodedBatch> {
  const { buffer, offset: start } = fetched;
  const length = buffer.readInt32BE(start + 8);
  if (length < BATCH_BYTES - PREFIX_BYTES) throw createErrorFromCode(CORRUPT_MESSAGE);
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

/** Number of records that the next batch claims to have. */
function recordsOfNext({ buffer, offset }: Fetched): number {
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
  return cutter.endRecords();
}

/** Bytes of records kept together: few enough not to matter when one of them waits for long. */
const SHARED_BYTES = 8 * 1024;
/** Pieces of a longer record are copied to their final place at once. */
const LONG_BYTES = 256 * 1024;
/**
 * A longer record is decoded only up to its offset: its dead letter would hardly fit into a topic (16 MiB by
 * default), and two more are read while the garbage of one is collected.
 */
const MAX_RECORD_BYTES = 32 * 1024 * 1024;
/** Upper bound of a record's length, attributes and both deltas. */
const HEAD_BYTES = 64;
/** Attributes, two deltas, key, value and headers of one byte each. */
const SHORTEST_BYTES = 6;
const NOTHING = Buffer.alloc(0);

interface LongRecord {
  /** The whole record, or its beginning if it is omitted. */
  bytes: Buffer;
  length: number;
  filled: number;
}

/**
 * Cuts the bytes of a batch into its records, piece by piece as they are unpacked, and copies them: a slice of the
 * fetch would keep all of it in memory while one record waits.
 */
class RecordCutter {
  readonly records: (DecodedRecord | UnreadableRecord)[] = [];
  /** The beginning of an incomplete record. */
  private rest = NOTHING;
  private long: LongRecord | undefined;

  constructor(
    private readonly count: number,
    private readonly batch: BatchContext,
  ) {}

  /** Copies what it keeps of the piece. @throws UnreadableBatchError when the end of a record cannot be found */
  push(piece: Buffer): void {
    let bytes = piece;
    if (this.long !== undefined) bytes = this.fillLongRecord(this.long, piece);
    else if (this.rest.length > 0) bytes = Buffer.concat([this.rest, piece]);
    this.rest = NOTHING;
    const from = this.cut(bytes);
    if (from < bytes.length && this.records.length < this.count)
      this.keepRest(bytes.subarray(from));
  }

  /** @throws UnreadableBatchError when records are missing */
  endRecords(): (DecodedRecord | UnreadableRecord)[] {
    const { records, count } = this;
    if (records.length === count) return records;
    throw damaged(`${records.length} of the batch's ${count} records are there`);
  }

  /** Returns the bytes after the record. */
  private fillLongRecord(long: LongRecord, piece: Buffer): Buffer {
    const taken = Math.min(piece.length, long.length - long.filled);
    piece.copy(long.bytes, long.filled);
    long.filled += taken;
    if (long.filled === long.length) {
      this.long = undefined;
      if (long.bytes.length < long.length) this.addOmitted(long.bytes, long.length);
      else this.addRecords(long.bytes, 1);
    }
    return piece.subarray(taken);
  }

  /** Returns the start of the first incomplete record. */
  private cut(bytes: Buffer): number {
    let from = 0;
    while (this.records.length < this.count) {
      const { until, sharing } = sharedRecords(bytes, from, this.count - this.records.length);
      if (sharing === 0) break;
      const whole = bytes.subarray(from, until);
      if (whole.length > MAX_RECORD_BYTES) this.addOmitted(whole, whole.length);
      else this.addRecords(copyOf(whole), sharing);
      from = until;
    }
    return from;
  }

  private keepRest(rest: Buffer): void {
    const length = endOfRecord(rest, 0) ?? 0;
    if (length < LONG_BYTES) {
      this.rest = Buffer.from(rest);
      return;
    }
    const bytes = Buffer.allocUnsafeSlow(length > MAX_RECORD_BYTES ? HEAD_BYTES : length);
    rest.copy(bytes);
    this.long = { bytes, length, filled: rest.length };
  }

  private addOmitted(head: Buffer, length: number): void {
    const cursor = new Cursor(head, 0);
    const bytes = cursor.varint();
    const { position, timestamp } = new DecodedRecord(head, cursor.at, bytes, this.batch);
    const batch = { ...this.batch, firstTimestamp: timestamp };
    this.records.push(omittedRecord(position, batch, length, MAX_RECORD_BYTES));
  }

  private addRecords(kept: Buffer, sharing: number): void {
    const cursor = new Cursor(kept, 0);
    for (let one = 0; one < sharing; one += 1) {
      const length = cursor.varint();
      const end = cursor.at + length;
      this.records.push(new DecodedRecord(kept, cursor.at, end, this.batch));
      cursor.at = end;
    }
  }
}

/** In separate memory: Node 24's pool, which Buffer.from uses, would keep 64 KiB while one record waits. */
function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

/** Number of whole records from `from` on that share a copy, and their end. */
function sharedRecords(
  bytes: Buffer,
  from: number,
  most: number,
): { until: number; sharing: number } {
  let [until, sharing] = [from, 0];
  for (; sharing < most; sharing += 1) {
    const end = endOfRecord(bytes, until);
    if (end === undefined || end > bytes.length) break;
    if (sharing > 0 && end - from > SHARED_BYTES) break;
    until = end;
  }
  return { until, sharing };
}

/** End of the record at `start`, possibly after the bytes; undefined when they do not show it. */
function endOfRecord(bytes: Buffer, start: number): number | undefined {
  const cursor = new Cursor(bytes, start);
  const length = cursor.varint();
  if (cursor.at > bytes.length) return undefined;
  if (length < SHORTEST_BYTES) throw damaged(`a record has ${length} bytes`);
  return cursor.at + length;
}

function damaged(detail: string): UnreadableBatchError {
  return new UnreadableBatchError('invalid-message', detail);
}
