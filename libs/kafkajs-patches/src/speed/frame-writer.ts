import type { MessageHeaders } from '#libs/contracts';

/** A message of kafkajs's producers, whose headers may also be a list. */
export interface MessageFields {
  key?: string | Buffer | null;
  value: string | Buffer | null;
  headers?: MessageHeaders | HeadersByName;
  /** Epoch milliseconds in decimal digits; by default now. */
  timestamp?: string;
}

/** A number, decimal digits, or kafkajs's 64-bit number. */
export type Int64 = number | string | { toString(): string };

type Part = string | Buffer;
/** kafkajs's form: several values of a header are a list under its name. It has no headers without a value. */
type HeadersByName = Readonly<Record<string, Part | readonly Part[]>>;

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

/** Writes parts of Kafka's protocol in sequence into a growing buffer; `produce-request.ts` states its gain. */
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
