import type { IHeaders } from 'kafkajs';

/** The bytes of a record after its length, as kafkajs gives them to the decoding. */
export interface RecordBytes {
  buffer: Buffer;
}

/** As much of a record batch as its records are read with; numbers of 64 bits are decimal text. */
export interface BatchContext {
  firstOffset: string;
  firstTimestamp: string;
  maxTimestamp?: string;
  timestampType?: number;
  magicByte?: number;
  isControlBatch?: boolean;
}

/** A record as kafkajs hands it on. Key, value and headers are windows into its own bytes, and of nothing else. */
export interface DecodedRecord {
  magicByte: number | undefined;
  attributes: number;
  timestamp: string;
  offset: string;
  key: Buffer | null;
  value: Buffer | null;
  /** Without a prototype; several values under one name are a list. A null, which kafkajs cannot write, is empty. */
  headers: IHeaders;
  isControlRecord: boolean;
  batchContext: BatchContext;
}

const LOG_APPEND_TIME = 1;
const NONE = -1;
const EMPTY = Buffer.alloc(0);
/** Shared by all records without headers. */
const NO_HEADERS = Object.freeze(Object.create(null)) as IHeaders;

/**
 * Reads a record of a record batch (magic 2) from the bytes behind its length: attributes, timestamp delta,
 * offset delta, key, value, headers; lengths are zigzag varints.
 */
export function decodeRecord({ buffer }: RecordBytes, batch: BatchContext): DecodedRecord {
  // A window into the whole fetch would keep all of that in memory for as long as one record waits.
  const cursor = new Cursor(Buffer.from(buffer));
  const attributes = cursor.byte();
  const timestampDelta = cursor.varint();
  const offsetDelta = cursor.varint();
  return {
    magicByte: batch.magicByte,
    attributes,
    timestamp: timestampOf(batch, timestampDelta),
    offset: String(Number(batch.firstOffset) + offsetDelta),
    key: cursor.bytes(),
    value: cursor.bytes(),
    headers: readHeaders(cursor),
    isControlRecord: batch.isControlBatch ?? false,
    batchContext: batch,
  };
}

/** Exact for as long as milliseconds since the epoch are: up to 2^53 of them. */
function timestampOf(batch: BatchContext, delta: number): string {
  const { firstTimestamp, maxTimestamp, timestampType } = batch;
  if (timestampType === LOG_APPEND_TIME && maxTimestamp) return maxTimestamp;
  return delta === 0 ? firstTimestamp : String(Number(firstTimestamp) + delta);
}

function readHeaders(cursor: Cursor): IHeaders {
  const count = cursor.varint();
  if (count <= 0) return NO_HEADERS;
  const headers = Object.create(null) as IHeaders;
  for (let index = 0; index < count; index += 1) {
    const name = cursor.text();
    const value = cursor.bytes() ?? EMPTY;
    const before = headers[name];
    if (before === undefined) headers[name] = value;
    else headers[name] = Array.isArray(before) ? [...before, value] : [before, value];
  }
  return headers;
}

/** Reads on and on; what lies beyond the end is nothing but zeros. */
class Cursor {
  private at = 0;

  constructor(private readonly buffer: Buffer) {}

  byte(): number {
    return this.buffer.readInt8(this.at++);
  }

  /** Exact up to 2^53. */
  varint(): number {
    let zigzag = 0;
    let scale = 1;
    let byte;
    do {
      byte = this.buffer[this.at++] ?? 0;
      zigzag += (byte & 0x7f) * scale;
      scale *= 128;
    } while (byte > 0x7f);
    return zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
  }

  bytes(): Buffer | null {
    const length = this.varint();
    if (length === NONE) return null;
    return this.buffer.subarray(this.at, (this.at += length));
  }

  text(): string {
    const length = this.varint();
    return this.buffer.toString('utf8', this.at, (this.at += length));
  }
}
