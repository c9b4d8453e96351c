import { createRequire } from 'node:module';
import { Cursor } from './cursor.js';
import { type BatchContext, DecodedRecord } from './decoded-record.js';

/** As much of kafkajs's decoder as reading goes by. */
export interface Fetched {
  buffer: Buffer;
  offset: number;
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

interface Codec {
  decompress(records: Buffer): Promise<Buffer>;
}

const require = createRequire(import.meta.url);
const { lookupCodecByAttributes } =
  require('kafkajs/src/protocol/message/compression/index.js') as {
    lookupCodecByAttributes: (attributes: number) => Codec | null;
  };
/** Told by its name: a fetch has a limit, and may end within a batch. */
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
/** So many bytes of records are kept together: few enough not to matter when one of them waits for long. */
const SHARED_BYTES = 8 * 1024;

/**
 * Reads a record batch (magic 2), and puts the bytes of its records by: what is read of the fetch itself would
 * keep all of that in memory for as long as one record waits.
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
  const attributes = bytes.readInt16BE(9);
  const firstOffset = String(buffer.readBigInt64BE(start));
  const context = contextOf(bytes, firstOffset, attributes);
  const codec = lookupCodecByAttributes(attributes);
  const rest = bytes.subarray(RECORDS_AT);
  const count = bytes.readInt32BE(COUNT_AT);
  const plain = codec === null || count <= 0 ? rest : await codec.decompress(rest);
  const magicByte = bytes.readInt8(4);
  return { ...context, records: decodeRecords(plain, count, { ...context, magicByte }) };
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

function decodeRecords(bytes: Buffer, count: number, batch: BatchContext): DecodedRecord[] {
  const records: DecodedRecord[] = [];
  for (let from = 0; records.length < count;) {
    const { until, sharing } = share(bytes, from, count - records.length);
    const kept = Buffer.from(bytes.subarray(from, until));
    const cursor = new Cursor(kept, 0);
    for (let one = 0; one < sharing; one += 1) {
      const length = cursor.varint();
      const end = cursor.at + length;
      records.push(new DecodedRecord(kept, cursor.at, end, batch));
      cursor.at = end;
    }
    from = until;
  }
  return records;
}

/** How many records from there on, at least one, share what is kept, and where the last of them ends. */
function share(bytes: Buffer, from: number, most: number): { until: number; sharing: number } {
  const cursor = new Cursor(bytes, from);
  cursor.pass();
  let until = cursor.at;
  let sharing = 1;
  for (; sharing < most; sharing += 1) {
    cursor.pass();
    if (cursor.at - from > SHARED_BYTES) break;
    until = cursor.at;
  }
  return { until, sharing };
}
