import { createRequire } from 'node:module';
import { realEpochMs } from '#libs/clock';
import type { MessageHeaders } from '#libs/contracts';

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

/** A message of kafkajs's producers, whose headers may also be a list. */
export interface MessageFields {
  key?: string | Buffer | null;
  value: string | Buffer | null;
  headers?: MessageHeaders | HeadersByName;
  /** Epoch milliseconds in decimal digits; by default now. */
  timestamp?: string;
}

/** A number, decimal digits, or kafkajs's 64-bit number. */
type Int64 = number | string | { toString(): string };

type Part = string | Buffer;
/** kafkajs's form: several values of a header are a list under its name. It has no headers without a value. */
type HeadersByName = Readonly<Record<string, Part | readonly Part[]>>;

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

const NONE = -1;
const NO_HEADERS: MessageHeaders = [];
/** Up to this length a loop is faster than calls into the runtime. */
const SHORT_TEXT = 16;
const START_BYTES = 64 * 1024;
/** Largest buffer that is kept for the next frame, and largest spare room when it grows. */
const MOST_KEPT_BYTES = 2 * 1024 * 1024;
/** Size of a 32-bit varint. */
const VARINT_BYTES = 5;
/** The length of most records takes two bytes. */
const LIKELY_LENGTH_BYTES = 2;

/** Writes parts of Kafka's protocol in sequence into a growing buffer. */
export class FrameWriter {
  buffer = Buffer.allocUnsafeSlow(START_BYTES);
  at = 0;

  get written(): Buffer {
    return this.buffer.subarray(0, this.at);
  }

  begin(): this {
    this.at = 0;
    return this;
  }

  /** Returns the frame, which stays as it is. */
  end(): Buffer {
    const { written } = this;
    if (this.buffer.length <= MOST_KEPT_BYTES) return Buffer.from(written);
    this.buffer = Buffer.allocUnsafeSlow(START_BYTES);
    return written;
  }

  int8(value: number): this {
    this.reserve(1);
    this.at = this.buffer.writeInt8(value, this.at);
    return this;
  }

  int16(value: number): this {
    this.reserve(2);
    this.at = this.buffer.writeInt16BE(value, this.at);
    return this;
  }

  int32(value: number): this {
    this.reserve(4);
    this.at = this.buffer.writeInt32BE(value, this.at);
    return this;
  }

  int64(value: Int64): this {
    this.reserve(8);
    this.at = this.buffer.writeBigInt64BE(BigInt(String(value)), this.at);
    return this;
  }

  /** Writes text after its length. */
  string(text: string | null): this {
    if (text === null) return this.int16(-1);
    return this.int16(Buffer.byteLength(text)).bytes(Buffer.from(text));
  }

  bytes(bytes: Buffer): this {
    this.reserve(bytes.length);
    this.buffer.set(bytes, this.at);
    this.at += bytes.length;
    return this;
  }

  /**
   * Writes a record of a batch (magic 2): length, attributes, timestamp delta, offset delta, key, value, headers;
   * lengths are zigzag varints.
   *
   * @param timestampDelta milliseconds after the first record; negative for an older record
   * @throws TypeError when a key, a value or a header is neither text nor bytes
   */
  record(
    { key, value, headers }: MessageFields,
    offsetDelta: number,
    timestampDelta: number,
  ): void {
    this.reserve(LIKELY_LENGTH_BYTES);
    const start = this.at;
    this.at += LIKELY_LENGTH_BYTES;
    this.int8(0).varint(timestampDelta).varint(offsetDelta);
    this.partOrNone(key).partOrNone(value);
    this.headers(headers ?? NO_HEADERS);
    this.lengthOfRecord(start);
  }

  /** Inserts the length before a record, and moves the record if it needs other room. */
  private lengthOfRecord(start: number): void {
    const body = start + LIKELY_LENGTH_BYTES;
    const length = this.at - body;
    const moved = sizeOfVarint(length) - LIKELY_LENGTH_BYTES;
    if (moved !== 0) {
      this.reserve(VARINT_BYTES);
      this.buffer.copyWithin(body + moved, body, this.at);
    }
    this.at = start;
    this.varint(length).at += length;
  }

  private headers(headers: MessageHeaders | HeadersByName): void {
    if (isList(headers)) {
      this.varint(headers.length);
      for (const [name, value] of headers) this.part(name).partOrNone(value);
      return;
    }
    this.varint(countOf(headers));
    for (const name in headers) {
      const value = headers[name] as Part | readonly Part[];
      if (!Array.isArray(value)) this.part(name).part(value as Part);
      else for (const one of value as Part[]) this.part(name).part(one);
    }
  }

  private partOrNone(part: Part | null | undefined): this {
    return part == null ? this.varint(NONE) : this.part(part);
  }

  private part(part: Part): this {
    if (typeof part === 'string' && this.shortText(part)) return this;
    const length = Buffer.byteLength(part);
    this.varint(length).reserve(length);
    if (typeof part !== 'string') this.buffer.set(part, this.at);
    // As many bytes as characters means ASCII.
    else this.buffer.write(part, this.at, length, length === part.length ? 'latin1' : 'utf8');
    this.at += length;
    return this;
  }

  /** Writes a short ASCII text; returns false, having written nothing, for any other. */
  private shortText(text: string): boolean {
    const { length } = text;
    if (length > SHORT_TEXT) return false;
    this.reserve(1 + length);
    const { buffer, at } = this;
    buffer[at] = length * 2;
    for (let index = 0; index < length; index += 1) {
      const code = text.charCodeAt(index);
      if (code > 0x7f) return false;
      buffer[at + 1 + index] = code;
    }
    this.at = at + 1 + length;
    return true;
  }

  /** Zigzag varint: seven bits a byte, the lowest first; small numbers of either sign are short. */
  private varint(value: number): this {
    this.reserve(VARINT_BYTES * 2);
    const { buffer } = this;
    let { at } = this;
    let rest = zigzag(value);
    for (; rest > 0x7f; rest = Math.floor(rest / 128)) buffer[at++] = (rest % 128) | 0x80;
    buffer[at] = rest;
    this.at = at + 1;
    return this;
  }

  private reserve(bytes: number): void {
    const needed = this.at + bytes;
    if (needed <= this.buffer.length) return;
    const spare = Math.min(this.buffer.length, MOST_KEPT_BYTES);
    const larger = Buffer.allocUnsafeSlow(needed + spare);
    this.buffer.copy(larger, 0, 0, this.at);
    this.buffer = larger;
  }
}

/** Each request is written in one turn and copied out: growing buffers would leave garbage of many times its size. */
const scratch = new FrameWriter();

function isList(headers: MessageHeaders | HeadersByName): headers is MessageHeaders {
  return Array.isArray(headers);
}

function countOf(headers: HeadersByName): number {
  let count = 0;
  for (const name in headers) {
    const value = headers[name];
    count += Array.isArray(value) ? value.length : 1;
  }
  return count;
}

/** Exact up to 2^52, more than any difference of times. */
function zigzag(value: number): number {
  return value < 0 ? -value * 2 - 1 : value * 2;
}

function sizeOfVarint(value: number): number {
  let rest = zigzag(value);
  let size = 1;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) size += 1;
  return size;
}
