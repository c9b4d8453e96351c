import { type MessageHeader, type MessageHeaders } from '#libs/contracts';
import { Cursor } from './cursor.js';

/** As much of a record batch as its records are read with; numbers of 64 bits are decimal text. */
export interface BatchContext {
  firstOffset: string;
  firstTimestamp: string;
  maxTimestamp?: string;
  timestampType?: number;
  magicByte?: number;
  isControlBatch?: boolean;
}

type HeaderValue = MessageHeader[1];
/** kafkajs's own type of them, which is not to be had before it is loaded; the nulls it hands on are not in it. */
type HeadersByName = Record<string, Buffer | string | (Buffer | string)[] | undefined>;

const LOG_APPEND_TIME = 1;
/** Shared by all records without headers. */
const NO_HEADERS: MessageHeaders = [];

/**
 * A record of a record batch (magic 2) as kafkajs hands it on: attributes, timestamp delta, offset delta, key,
 * value, headers; lengths are zigzag varints. It is read when it is asked for something, each time anew: hundreds
 * of thousands may wait, and what is read of one takes several times the memory of its bytes. To be asked, and not
 * to be spread: it has nothing of its own but where it lies.
 */
export class DecodedRecord {
  /** {@link offset} as a number. */
  readonly position: number;
  readonly batchContext: BatchContext;
  private readonly buffer: Buffer;
  private readonly start: number;
  private readonly end: number;

  /** The bytes behind its length: from `start` up to, but not with, `end`. */
  constructor(buffer: Buffer, start: number, end: number, batch: BatchContext) {
    const cursor = new Cursor(buffer, start + 1);
    cursor.varint();
    this.position = Number(batch.firstOffset) + cursor.varint();
    this.batchContext = batch;
    this.buffer = buffer;
    this.start = start;
    this.end = end;
  }

  /** How many it has. */
  get bytes(): number {
    return this.end - this.start;
  }

  get offset(): string {
    return String(this.position);
  }

  get magicByte(): number | undefined {
    return this.batchContext.magicByte;
  }

  get isControlRecord(): boolean {
    return this.batchContext.isControlBatch ?? false;
  }

  get attributes(): number {
    return this.buffer.readInt8(this.start);
  }

  /** Exact for as long as milliseconds since the epoch are: up to 2^52 of them. */
  get timestamp(): string {
    const { firstTimestamp, maxTimestamp, timestampType } = this.batchContext;
    if (timestampType === LOG_APPEND_TIME && maxTimestamp) return maxTimestamp;
    const delta = new Cursor(this.buffer, this.start + 1).varint();
    return delta === 0 ? firstTimestamp : String(Number(firstTimestamp) + delta);
  }

  get key(): Buffer | null {
    return this.atKey().bytes();
  }

  get value(): Buffer | null {
    const cursor = this.atKey();
    cursor.pass();
    return cursor.bytes();
  }

  /** All of them, as they lie in the record. */
  get headerList(): MessageHeaders {
    const cursor = this.atKey();
    cursor.pass();
    cursor.pass();
    return readHeaders(cursor);
  }

  /**
   * By name, for who has them from kafkajs: several values under one name are a list, and the order of names is
   * that of an object. Without a prototype.
   */
  get headers(): HeadersByName {
    const byName = Object.create(null) as Record<string, HeaderValue | HeaderValue[]>;
    for (const [name, value] of this.headerList) {
      const before = byName[name];
      if (before === undefined) byName[name] = value;
      else byName[name] = Array.isArray(before) ? [...before, value] : [before, value];
    }
    return byName as HeadersByName;
  }

  private atKey(): Cursor {
    const cursor = new Cursor(this.buffer, this.start + 1);
    cursor.varint();
    cursor.varint();
    return cursor;
  }
}

function readHeaders(cursor: Cursor): MessageHeaders {
  const count = cursor.varint();
  if (count <= 0) return NO_HEADERS;
  const headers: MessageHeader[] = [];
  for (let index = 0; index < count; index += 1) {
    headers.push([cursor.headerName(), cursor.bytes()]);
  }
  return headers;
}
