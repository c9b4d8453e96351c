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
 * at once. kafkajs reads them all, and hands the records of each to `push` as arguments, of which a hundred thousand
 * are more than the stack holds. Messages in the formats before Kafka 0.11 are read by kafkajs.
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
      if (all.length > 0 || error instanceof KafkaJSPartialMessageError) break;
      throw error;
    }
  }
  return all;
}

/**
 * Of a batch whose last records compaction has taken: what nobody is shown, and moves the position all the same, like
 * the marker of a transaction. Kafka keeps a batch with nothing in it for what it says of its producer. kafkajs by
 * itself takes an answer of such batches alone for the end of the partition, and fetches the same for ever.
 */
function endOf(batch: DecodedBatch, offset: string): DecodedBatch['records'][number] {
  const marker = { isControlRecord: true, batchContext: batch };
  return { ...marker, ...{ offset, key: null, value: null } };
}

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
const { KafkaJSPartialMessageError } = require('kafkajs/src/errors.js') as {
  KafkaJSPartialMessageError: new (message: string) => Error;
};
const { createErrorFromCode } = require('kafkajs/src/protocol/error.js') as {
  createErrorFromCode: (code: number) => Error;
};
const CORRUPT_MESSAGE = 2;

/** First offset and length, which a batch's own length leaves out. */
const PREFIX_BYTES = 12;
const COUNT_AT = 45;
const RECORDS_AT = 49;
const LOG_APPEND_TIME = 0x08;
const IN_TRANSACTION = 0x10;
const CONTROL = 0x20;
const CODEC = 0x07;
/** Tens of thousands of short messages are packed into 1 MB; each costs memory beside its bytes. */
const MAX_RECORDS = 100_000;
/**
 * Of the bytes that a batch may unpack to, what {@link MAX_RECORDS} records leave. Bytes are kept until their record is
 * done, and each record leaves garbage: 57 MiB in 50,000 records, all rejected, grew the process by 310 MB.
 */
const LEAST_SHARE = 0.25;

/**
 * Reads a record batch (magic 2). Too large once unpacked, or damaged, it yields an {@link UnreadableRecord} for each
 * record. @throws KafkaJSPartialMessageError when the fetch ends within it, and as a broker does where its length is
 * damaged: nothing behind it can be found
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

/** How many records the next batch claims to have. */
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
  return cutter.end();
}

/** So many bytes of records are kept together: few enough not to matter when one of them waits for long. */
const SHARED_BYTES = 8 * 1024;
/** Each piece of a record that is longer, and comes in several, is put where it belongs at once. */
const LONG_BYTES = 256 * 1024;
/**
 * A record that is longer is read no further than its offset: its dead letter would hardly fit into a topic (16 MiB by
 * default), and while one is collected as garbage two more are read.
 */
const MAX_RECORD_BYTES = 32 * 1024 * 1024;
/** Length, attributes and both deltas of a record take less. */
const HEAD_BYTES = 64;
/** Attributes, two deltas, key, value and headers, of one byte each. */
const SHORTEST_BYTES = 6;
const NOTHING = Buffer.alloc(0);

interface LongRecord {
  /** All of it, or its beginning where it is omitted. */
  bytes: Buffer;
  length: number;
  filled: number;
}

/**
 * Cuts the bytes of a batch into its records, piece by piece as they are unpacked, and puts the bytes of the records
 * by: what is read of a fetch itself would keep all of that in memory for as long as one record waits.
 */
class RecordCutter {
  readonly records: (DecodedRecord | UnreadableRecord)[] = [];
  /** The beginning of a record that has not come to its end. */
  private rest = NOTHING;
  private long: LongRecord | undefined;

  constructor(
    private readonly count: number,
    private readonly batch: BatchContext,
  ) {}

  /** Keeps nothing of the piece. @throws UnreadableBatchError when the end of a record cannot be found */
  push(piece: Buffer): void {
    let bytes = piece;
    if (this.long !== undefined) bytes = this.fill(this.long, piece);
    else if (this.rest.length > 0) bytes = Buffer.concat([this.rest, piece]);
    this.rest = NOTHING;
    const from = this.cut(bytes);
    if (from < bytes.length && this.records.length < this.count) this.keep(bytes.subarray(from));
  }

  /** @throws UnreadableBatchError when records are missing */
  end(): (DecodedRecord | UnreadableRecord)[] {
    const { records, count } = this;
    if (records.length === count) return records;
    throw damaged(`${records.length} of the batch's ${count} records are there`);
  }

  /** Returns what is behind the record. */
  private fill(long: LongRecord, piece: Buffer): Buffer {
    const taken = Math.min(piece.length, long.length - long.filled);
    piece.copy(long.bytes, long.filled);
    long.filled += taken;
    if (long.filled === long.length) {
      this.long = undefined;
      if (long.bytes.length < long.length) this.omit(long.bytes, long.length);
      else this.add(long.bytes, 1);
    }
    return piece.subarray(taken);
  }

  /** Returns where the first record begins that is not all there. */
  private cut(bytes: Buffer): number {
    let from = 0;
    while (this.records.length < this.count) {
      const { until, sharing } = share(bytes, from, this.count - this.records.length);
      if (sharing === 0) break;
      const whole = bytes.subarray(from, until);
      if (whole.length > MAX_RECORD_BYTES) this.omit(whole, whole.length);
      else this.add(copyOf(whole), sharing);
      from = until;
    }
    return from;
  }

  private keep(rest: Buffer): void {
    const length = endOfRecord(rest, 0) ?? 0;
    if (length < LONG_BYTES) {
      this.rest = Buffer.from(rest);
      return;
    }
    const bytes = Buffer.allocUnsafeSlow(length > MAX_RECORD_BYTES ? HEAD_BYTES : length);
    rest.copy(bytes);
    this.long = { bytes, length, filled: rest.length };
  }

  private omit(head: Buffer, length: number): void {
    const cursor = new Cursor(head, 0);
    const bytes = cursor.varint();
    const { position, timestamp } = new DecodedRecord(head, cursor.at, bytes, this.batch);
    const batch = { ...this.batch, firstTimestamp: timestamp };
    this.records.push(omittedRecord(position, batch, length, MAX_RECORD_BYTES));
  }

  private add(kept: Buffer, sharing: number): void {
    const cursor = new Cursor(kept, 0);
    for (let one = 0; one < sharing; one += 1) {
      const length = cursor.varint();
      const end = cursor.at + length;
      this.records.push(new DecodedRecord(kept, cursor.at, end, this.batch));
      cursor.at = end;
    }
  }
}

/** In memory of its own: Node 24's pool, of which Buffer.from takes, would keep 64 KiB while one record waits. */
function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

/** How many whole records from there on share what is kept, and where the last of them ends. */
function share(bytes: Buffer, from: number, most: number): { until: number; sharing: number } {
  let [until, sharing] = [from, 0];
  for (; sharing < most; sharing += 1) {
    const end = endOfRecord(bytes, until);
    if (end === undefined || end > bytes.length) break;
    if (sharing > 0 && end - from > SHARED_BYTES) break;
    until = end;
  }
  return { until, sharing };
}

/** Where the record ends that begins there, which may be behind the bytes; undefined when they do not show it. */
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
