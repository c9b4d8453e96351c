import { createRequire } from 'node:module';
import { realEpochMs } from '#libs/clock';
import { FrameWriter, type Int64, type MessageFields } from './frame-writer.js';

export interface ProduceFields {
  acks: number;
  timeout: number;
  transactionalId?: string | null;
  producerId?: Int64;
  producerEpoch?: number;
  /** Kafka's number of the codec. */
  compression?: number;
  topicData: readonly TopicFields[];
}

interface TopicFields {
  topic: string;
  partitions: readonly PartitionFields[];
}

interface PartitionFields {
  /** Text if kafkajs takes it from the name of a property. */
  partition: number | string;
  messages: readonly MessageFields[];
  firstSequence?: number;
}

export interface KafkajsRequest {
  apiKey: number;
  apiVersion: number;
  apiName: string;
  expectResponse?: () => boolean;
  encode: () => Promise<Encoded>;
}

/** A message with a part that is neither text nor bytes: unlike other failures of a send, it persists. */
export class UnencodableMessageError extends Error {
  readonly retriable = false;

  constructor(cause: Error) {
    super(cause.message, { cause });
    this.name = 'UnencodableMessageError';
  }
}

/**
 * A produce request (versions 3 to 7, which differ in the number alone): transactional id, acks, time-out, and by
 * topic and partition a record batch. kafkajs copies each byte about eight times, through growing buffers.
 *
 * Saves 45 % of the processor time of a list (33 instead of 61 µs).
 */
export function produceRequest(fields: ProduceFields): KafkajsRequest {
  return {
    apiKey: 0,
    apiVersion: 3,
    apiName: 'Produce',
    expectResponse: () => fields.acks !== 0,
    encode: async () => {
      const topics = fields.topicData.map(({ topic, partitions }) => ({
        topic,
        batches: partitions.map((partition) => new RecordBatch(partition, fields)),
      }));
      if (fields.compression !== undefined && fields.compression !== 0) {
        for (const { batches } of topics) for (const batch of batches) await batch.compress();
      }
      return encoded(write(fields, topics));
    },
  };
}

/** Each request is written in one turn and copied out: growing buffers would leave garbage of many times its size. */
const scratch = new FrameWriter();

function write(
  { transactionalId = null, acks, timeout }: ProduceFields,
  topics: readonly { topic: string; batches: readonly RecordBatch[] }[],
): Buffer {
  scratch.begin().string(transactionalId).int16(acks).int32(timeout).int32(topics.length);
  for (const { topic, batches } of topics) {
    scratch.string(topic).int32(batches.length);
    for (const batch of batches) batch.writeTo(scratch);
  }
  return scratch.end();
}

interface Codec {
  compress(records: Encoded): Promise<Buffer>;
}

const SIZE_BYTES = 4;
/** Bytes that the length and the checksum of a batch exclude: those up to their own ends. */
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

/** A record batch (magic 2) of a partition. */
class RecordBatch {
  private readonly times: BatchTimes;
  private compressed: Buffer | undefined;

  constructor(
    private readonly of: PartitionFields,
    private readonly request: ProduceFields,
  ) {
    this.times = timesOf(of.messages, realEpochMs());
  }

  async compress(): Promise<void> {
    const plain = new FrameWriter();
    this.writeRecords(plain);
    const codec = lookupCodec(this.request.compression ?? 0);
    this.compressed = await codec.compress(encoded(plain.written));
  }

  /** Writes its partition, its size, and the batch. */
  writeTo(writer: FrameWriter): void {
    const { times, compressed } = this;
    const { partition, messages, firstSequence = 0 } = this.of;
    const { transactionalId, producerId = -1, producerEpoch = 0, compression = 0 } = this.request;
    const inTransaction = transactionalId ? IN_TRANSACTION : 0;
    const start = writer.int32(Number(partition)).at + SIZE_BYTES;
    // Size, first offset, length, leader epoch, magic number and checksum.
    writer.int32(0).int64(0).int32(0).int32(0).int8(MAGIC).int32(0);
    writer.int16((compression & CODEC_MASK) | inTransaction).int32(messages.length - 1);
    writer.int64(times.first).int64(times.max);
    writer.int64(producerId).int16(producerEpoch).int32(firstSequence);
    writer.int32(messages.length);
    if (compressed === undefined) this.writeRecords(writer);
    else writer.bytes(compressed);
    const batch = writer.written.subarray(start);
    writer.buffer.writeInt32BE(batch.length, start - SIZE_BYTES);
    batch.writeInt32BE(batch.length - BEFORE_LENGTH, BEFORE_LENGTH - SIZE_BYTES);
    batch.writeUInt32BE(crc32c(batch.subarray(BEFORE_CHECKED)), BEFORE_CHECKED - SIZE_BYTES);
  }

  private writeRecords(writer: FrameWriter): void {
    const { messages } = this.of;
    const { deltas } = this.times;
    try {
      messages.forEach((message, index) => writer.record(message, index, deltas[index] ?? 0));
    } catch (error) {
      throw new UnencodableMessageError(error as Error);
    }
  }
}

/** Epoch milliseconds of a batch, and each record's difference from the first. */
interface BatchTimes {
  first: number | string;
  max: number | string;
  deltas: readonly number[];
}

/** As in kafkajs: smallest and largest time by text order, though other times may be outside. */
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

/** The part of kafkajs's encoder that codecs and connections use. */
interface Encoded {
  buf: Buffer;
  buffer: Buffer;
  size(): number;
}

function encoded(buffer: Buffer): Encoded {
  return { buf: buffer, buffer, size: () => buffer.length };
}
