import { createRequire } from 'node:module';
import { realEpochMs } from '#libs/clock';
import { crc32c } from './crc32c.js';
import { type FrameWriter, type Int64 } from './frame-writer.js';
import { type Encoded, encoded } from './kafkajs-encoder.js';
import { type MessageFields, RecordLayout } from './record-layout.js';
import { type BatchTimes, timesOf } from './record-times.js';

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

const { lookupCodec } = createRequire(import.meta.url)(
  'kafkajs/src/protocol/message/compression/index.js',
) as { lookupCodec: (compression: number) => Codec };

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
    const checksum = crc32c(buffer, start + BEFORE_CHECKED, writer.at);
    buffer.writeUInt32BE(checksum, start + BEFORE_CHECKED - 4);
  }
}
