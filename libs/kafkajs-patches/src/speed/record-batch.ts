import { createRequire } from 'node:module';
import { realEpochMs } from '#libs/clock';
import { type FrameWriter, type Int64 } from './frame-writer.js';
import { type MessageFields, RecordLayout } from './record-layout.js';

/** Whose a batch is; kafkajs has a producer id without idempotence as well: -1. */
export interface BatchProducer {
  producerId: Int64;
  producerEpoch: number;
  isTransactional: boolean;
  firstSequence: number;
}

interface Codec {
  compress(records: Encoded): Promise<Buffer>;
}

const HEADER_BYTES = 61;
/** From the first byte to the length, and to where the checksum's bytes begin. */
const BEFORE_LENGTH = 12;
const BEFORE_CHECKED = 21;
const MAGIC = 2;
const CODEC_MASK = 0x07;
const IN_TRANSACTION = 0x10;

const require = createRequire(import.meta.url);
const crc32c = require('kafkajs/src/protocol/recordBatch/crc32C/index.js') as (
  bytes: Buffer,
) => number;
const { lookupCodec } = require('kafkajs/src/protocol/message/compression/index.js') as {
  lookupCodec: (compression: number) => Codec;
};

/** A record batch (magic 2) that has its size before it is written. */
export class RecordBatch {
  private readonly times: BatchTimes;
  private readonly records: RecordLayout;
  private compressed: Buffer | undefined;

  /** @throws TypeError when a part of a message is neither text nor bytes */
  constructor(
    messages: readonly MessageFields[],
    private readonly producer: BatchProducer,
    private readonly compression: number,
  ) {
    this.times = timesOf(messages, realEpochMs());
    this.records = new RecordLayout(messages, this.times.deltas);
  }

  /** Must be done before its size is asked for. */
  async compress(): Promise<void> {
    const { records, compression } = this;
    const plain = Buffer.allocUnsafe(records.bytes);
    records.write(plain, 0);
    this.compressed = await lookupCodec(compression).compress(encoded(plain));
  }

  get bytes(): number {
    return HEADER_BYTES + (this.compressed?.length ?? this.records.bytes);
  }

  writeTo(writer: FrameWriter): void {
    const { times, records, producer, compression, compressed } = this;
    const { buffer, at: start } = writer;
    const inTransaction = producer.isTransactional ? IN_TRANSACTION : 0;
    writer.int64(0).int32(this.bytes - BEFORE_LENGTH);
    // The leader's epoch, the magic number, and room for the checksum.
    writer.int32(0).int8(MAGIC).int32(0);
    writer.int16((compression & CODEC_MASK) | inTransaction).int32(records.count - 1);
    writer.int64(times.first).int64(times.max);
    writer.int64(producer.producerId).int16(producer.producerEpoch).int32(producer.firstSequence);
    writer.int32(records.count);
    if (compressed === undefined) writer.at = records.write(buffer, writer.at);
    else writer.at += compressed.copy(buffer, writer.at);
    const checksum = crc32c(buffer.subarray(start + BEFORE_CHECKED, writer.at));
    buffer.writeUInt32BE(checksum, start + BEFORE_CHECKED - 4);
  }
}

/** Epoch milliseconds of a batch, and of each record the difference from the first of them. */
interface BatchTimes {
  first: number | string;
  max: number | string;
  deltas: readonly number[];
}

/** As kafkajs has it: the first and the last of the times given, of which those of the other records may lie outside. */
function timesOf(messages: readonly MessageFields[], nowMs: number): BatchTimes {
  const given = messages.flatMap(({ timestamp }) => timestamp ?? []);
  if (given.length === 0) {
    return { first: nowMs, max: nowMs, deltas: new Array<number>(messages.length).fill(0) };
  }
  given.sort();
  const first = given[0] ?? nowMs;
  const deltas = messages.map(({ timestamp }) => Number(timestamp ?? nowMs) - Number(first));
  return { first, max: given.at(-1) ?? nowMs, deltas };
}

/** As much of kafkajs's own encoder as is asked of what goes on its way: to a codec, or out. */
export interface Encoded {
  buf: Buffer;
  buffer: Buffer;
  size(): number;
}

export function encoded(buffer: Buffer): Encoded {
  return { buf: buffer, buffer, size: () => buffer.length };
}
