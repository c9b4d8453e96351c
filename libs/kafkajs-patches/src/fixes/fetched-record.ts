import {
  type MessageHeader,
  type MessageHeaders,
  rejected,
  type Rejection,
  type RejectionCode,
} from '#libs/contracts';

/** A record of a fetch, whatever its format. It may be read each time it is asked for something: not to be spread. */
export interface FetchedRecord {
  /** Its offset, as a number. */
  readonly position: number;
  /** Milliseconds since the epoch, decimal digits. */
  readonly timestamp: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headerList: MessageHeaders;
  /** Size of key, value and headers, roughly: what parts them may count. */
  readonly bytes: number;
  /** Why it must be rejected, where that was found before anybody parsed it: it lacks its value, or its headers. */
  readonly unreadable?: Unreadable | undefined;
}

/** The messages of a batch as `decode-messages.ts` reads them, which kafkajs's types do not know. */
export function fetchedRecords(batch: { messages: readonly object[] }): readonly FetchedRecord[] {
  return batch.messages as FetchedRecord[];
}

/** Why a record is rejected though its value is not known, and how many bytes its dead letter lacks. */
export interface Unreadable {
  rejection: Rejection;
  /** Size of the record, or of the whole batch in Kafka where that is refused; undefined when no value is left out. */
  omittedBytes: number | undefined;
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

const LOG_APPEND_TIME = 1;
/** Shared by all records without headers. */
export const NO_HEADERS: MessageHeaders = [];
/** For a message; a sender has a few dozen. A record of a hundred kilobytes may claim fifty thousand. */
const MOST_HEADERS = 1000;
const MOST_HEADER_BYTES = 256 * 1024;
/** Kafka's own records of ours carry those of a message, and what the bridge adds. */
const READ_UP_TO = 2;

/**
 * A record of a record batch (magic 2) as kafkajs hands it on: attributes, timestamp delta, offset delta, key,
 * value, headers; lengths are zigzag varints. It is read when it is asked for something, each time anew: hundreds
 * of thousands may wait, and what is read of one takes several times the memory of its bytes. To be asked, and not
 * to be spread: it has nothing of its own but where it lies.
 */
export class DecodedRecord implements FetchedRecord {
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

  get bytes(): number {
    return this.end - this.start;
  }

  get offset(): string {
    return String(this.position);
  }

  get isControlRecord(): boolean {
    return this.batchContext.isControlBatch ?? false;
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

  /** All of them, as they lie in the record; none where they are beyond twice what a message may have. */
  get headerList(): MessageHeaders {
    return this.exceed(READ_UP_TO) === undefined ? readHeaders(this.atHeaders()) : NO_HEADERS;
  }

  /** Its headers are more than a message may have. */
  get unreadable(): Unreadable | undefined {
    const excess = this.exceed(1);
    if (excess === undefined) return undefined;
    const { rejection } = rejected('too-large', `the message has ${excess}: left out`);
    return { rejection, omittedBytes: undefined };
  }

  private exceed(factor: number): string | undefined {
    // A header has a length of its name and of its value: so few bytes hold no more of them.
    if (this.bytes <= MOST_HEADERS * 2) return undefined;
    const { at, buffer } = this.atHeaders();
    const bytes = this.end - at;
    if (bytes > MOST_HEADER_BYTES * factor) {
      return `${bytes} bytes of headers, more than ${MOST_HEADER_BYTES}`;
    }
    const count = new Cursor(buffer, at).varint();
    if (count <= MOST_HEADERS * factor) return undefined;
    return `${count} headers, more than ${MOST_HEADERS}`;
  }

  private atHeaders(): Cursor {
    const cursor = this.atKey();
    cursor.pass();
    cursor.pass();
    return cursor;
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

const NONE = -1;

/** Reads the parts of a record on and on; what lies beyond the end is nothing but zeros. */
export class Cursor {
  constructor(
    readonly buffer: Buffer,
    public at: number,
  ) {}

  /** Exact up to 2^52. */
  varint(): number {
    let byte = this.buffer[this.at++] ?? 0;
    let zigzag = byte & 0x7f;
    for (let scale = 128; byte > 0x7f; scale *= 128) {
      byte = this.buffer[this.at++] ?? 0;
      zigzag += (byte & 0x7f) * scale;
    }
    return zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
  }

  /** What follows its length; null when there is nothing, as opposed to no bytes. */
  bytes(): Buffer | null {
    const length = this.varint();
    if (length === NONE) return null;
    return this.buffer.subarray(this.at, (this.at += length));
  }

  headerName(): string {
    const length = this.varint();
    return this.buffer.toString('utf8', this.at, (this.at += length));
  }

  /** Leaves out what {@link bytes} would read. */
  pass(): void {
    const length = this.varint();
    this.at += Math.max(length, 0);
  }
}

/** A record batch that is refused as a whole, because it is too large once it is unpacked, or damaged. */
export class UnreadableBatchError extends Error {
  constructor(
    readonly code: Extract<RejectionCode, 'too-large' | 'invalid-message'>,
    readonly detail: string,
  ) {
    super(detail);
    this.name = 'UnreadableBatchError';
  }
}

/** A batch may claim two thousand million offsets. Up to so many are rejected each: librdkafka packs no more. */
const MOST_REJECTED_EACH = 10_000;

/** Stands for a record of a batch that is refused, or for all of them. */
export class UnreadableRecord implements FetchedRecord {
  readonly key = null;
  readonly value = null;
  readonly headerList = NO_HEADERS;
  readonly bytes = 0;
  readonly isControlRecord = false;

  constructor(
    readonly position: number,
    readonly batchContext: BatchContext,
    readonly unreadable: Unreadable,
  ) {}

  get offset(): string {
    return String(this.position);
  }

  get timestamp(): string {
    const { firstTimestamp, maxTimestamp, timestampType } = this.batchContext;
    return timestampType === LOG_APPEND_TIME && maxTimestamp ? maxTimestamp : firstTimestamp;
  }
}

/**
 * What stands for the records of a batch that is refused, one for each offset that its header claims; of more than
 * 10,000 one for all, which names the range. `bytes` are of the batch in Kafka.
 */
export function unreadableRecords(
  batch: BatchContext & { lastOffsetDelta: number },
  { code, detail }: UnreadableBatchError,
  bytes: number,
): UnreadableRecord[] {
  const first = Number(batch.firstOffset);
  const count = batch.lastOffsetDelta + 1;
  const isOne = count > MOST_REJECTED_EACH;
  const said = isOne ? `offsets ${first} to ${first + count - 1}: ${detail}` : detail;
  const unreadable = { rejection: rejected(code, said).rejection, omittedBytes: bytes };
  return Array.from(
    { length: isOne ? 1 : count },
    (_, delta) => new UnreadableRecord(first + delta, batch, unreadable),
  );
}

/** What stands for one record of so many bytes, which is too large to be read whole. */
export function omittedRecord(
  position: number,
  batch: BatchContext,
  bytes: number,
  most: number,
): UnreadableRecord {
  const { rejection } = rejected('too-large', `the record has ${bytes} bytes, more than ${most}`);
  return new UnreadableRecord(position, batch, { rejection, omittedBytes: bytes });
}
