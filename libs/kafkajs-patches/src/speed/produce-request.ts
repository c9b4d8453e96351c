import { createRequire } from 'node:module';
import { realEpochMs } from '#libs/clock';
import { type MessageFields, RecordLayout } from './record-layout.js';

/** What kafkajs makes a produce request of. */
export interface ProduceFields {
  acks: number;
  timeout: number;
  transactionalId?: string | null;
  producerId?: Int64;
  producerEpoch?: number;
  /** The number of a codec. */
  compression?: number;
  topicData: readonly TopicFields[];
}

interface TopicFields {
  topic: string;
  partitions: readonly PartitionFields[];
}

interface PartitionFields {
  /** kafkajs has it from the name of a property. */
  partition: number | string;
  messages: readonly MessageFields[];
  firstSequence?: number;
}

/** A request as kafkajs's connections send it. */
export interface KafkajsRequest {
  apiKey: number;
  apiVersion: number;
  apiName: string;
  expectResponse?: () => boolean;
  encode: () => Promise<Encoded>;
}

/** A message of which a part is neither text nor bytes: it will never be sent, unlike what else may fail in between. */
export class UnencodableMessageError extends Error {
  readonly retriable = false;

  constructor(cause: Error) {
    super(cause.message, { cause });
    this.name = 'UnencodableMessageError';
  }
}

interface MeasuredTopic {
  topic: string;
  partitions: readonly { partition: number; batch: RecordBatch }[];
}

/**
 * A produce request (versions 3 to 7, which differ in the number alone): transactional id, acks, time-out, and
 * by topic and partition a record batch. All of it is measured first and then written once.
 */
export function produceRequest(fields: ProduceFields): KafkajsRequest {
  return {
    apiKey: 0,
    apiVersion: 3,
    apiName: 'Produce',
    expectResponse: () => fields.acks !== 0,
    encode: async () => write(fields, await measure(fields)),
  };
}

async function measure(fields: ProduceFields): Promise<MeasuredTopic[]> {
  const { compression = 0 } = fields;
  const topics = fields.topicData.map(({ topic, partitions }) => ({
    topic,
    partitions: partitions.map((data) => ({
      partition: Number(data.partition),
      batch: batchOf(data, fields),
    })),
  }));
  if (compression === 0) return topics;
  for (const { partitions } of topics) {
    for (const { batch } of partitions) await batch.compress();
  }
  return topics;
}

function batchOf(
  { messages, firstSequence = 0 }: PartitionFields,
  fields: ProduceFields,
): RecordBatch {
  const { transactionalId, producerId = -1, producerEpoch = 0, compression = 0 } = fields;
  const isTransactional = Boolean(transactionalId);
  const producer = { producerId, producerEpoch, isTransactional, firstSequence };
  try {
    return new RecordBatch(messages, producer, compression);
  } catch (error) {
    throw new UnencodableMessageError(error as Error);
  }
}

function write(fields: ProduceFields, topics: readonly MeasuredTopic[]): Encoded {
  const { transactionalId = null, acks, timeout } = fields;
  const bytes = sizeOfString(transactionalId) + 10 + sizeOf(topics);
  const writer = new FrameWriter(Buffer.allocUnsafe(bytes));
  writer.string(transactionalId).int16(acks).int32(timeout).int32(topics.length);
  for (const { topic, partitions } of topics) {
    writer.string(topic).int32(partitions.length);
    for (const { partition, batch } of partitions) {
      writer.int32(partition).int32(batch.bytes);
      batch.writeTo(writer);
    }
  }
  return encoded(writer.buffer);
}

function sizeOf(topics: readonly MeasuredTopic[]): number {
  let bytes = 0;
  for (const { topic, partitions } of topics) {
    bytes += sizeOfString(topic) + 4;
    for (const { batch } of partitions) bytes += 8 + batch.bytes;
  }
  return bytes;
}

/** Whose a batch is; kafkajs has a producer id without idempotence as well: -1. */
interface BatchProducer {
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
class RecordBatch {
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
interface Encoded {
  buf: Buffer;
  buffer: Buffer;
  size(): number;
}

function encoded(buffer: Buffer): Encoded {
  return { buf: buffer, buffer, size: () => buffer.length };
}

/** Writes the fixed parts of Kafka's protocol one behind the other into a buffer of the right size. */
class FrameWriter {
  constructor(
    readonly buffer: Buffer,
    /** Where the next part begins. */
    public at = 0,
  ) {}

  int8(value: number): this {
    this.at = this.buffer.writeInt8(value, this.at);
    return this;
  }

  int16(value: number): this {
    this.at = this.buffer.writeInt16BE(value, this.at);
    return this;
  }

  int32(value: number): this {
    this.at = this.buffer.writeInt32BE(value, this.at);
    return this;
  }

  /** @param value also decimal digits, or an object that kafkajs holds such a number in */
  int64(value: Int64): this {
    this.at = this.buffer.writeBigInt64BE(BigInt(String(value)), this.at);
    return this;
  }

  /** With its length before it. */
  string(text: string | null): this {
    if (text === null) return this.int16(-1);
    const length = Buffer.byteLength(text);
    this.int16(length);
    this.buffer.write(text, this.at, length);
    this.at += length;
    return this;
  }
}

type Int64 = number | string | { toString(): string };

function sizeOfString(text: string | null): number {
  return 2 + (text === null ? 0 : Buffer.byteLength(text));
}
