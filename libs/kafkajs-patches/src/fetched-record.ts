import {
  type MessageHeader,
  type MessageHeaders,
  rejected,
  type Rejection,
  type RejectionCode,
} from '#libs/contracts';

/** A fetched record of any format. Its fields may be decoded on each access, so it must not be spread. */
export interface FetchedRecord {
  /** Offset as a number. */
  readonly position: number;
  /** Epoch milliseconds in decimal digits. */
  readonly timestamp: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headerList: MessageHeaders;
  /** Rough size of key, value and headers; bytes between them may count. */
  readonly bytes: number;
  /** Rejection found before parsing; the record then lacks its value or its headers. */
  readonly unreadable?: Unreadable | undefined;
}

/** Returns the messages of a batch as `decode-messages.ts` decodes them, which kafkajs's types do not know. */
export function fetchedRecords(batch: { messages: readonly object[] }): readonly FetchedRecord[] {
  return batch.messages as FetchedRecord[];
}

/** Rejection of a record whose value is unknown, and the number of bytes that its dead letter lacks. */
export interface Unreadable {
  rejection: Rejection;
  /** Size of the record, or of the stored batch if that is rejected as a whole; undefined if no value is left out. */
  omittedBytes: number | undefined;
}

/** The part of a record batch that decoding its records needs; 64-bit numbers are decimal text. */
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
/** Limits of a message's headers; senders have a few dozen. A record of 100 kB may claim fifty thousand. */
const MOST_HEADERS = 1000;
const MOST_HEADER_BYTES = 256 * 1024;
/** Factor for records of the bridge, which carry the headers of a message and further ones. */
const READ_UP_TO = 2;

/**
 * A record of a record batch (magic 2) in kafkajs's form: attributes, timestamp delta, offset delta, key, value,
 * headers; lengths are zigzag varints. Fields are decoded on each access: hundreds of thousands may wait, and a
 * decoded record takes several times the memory of its bytes. It must not be spread: its own fields are its place in
 * the buffer alone.
 */
export class DecodedRecord implements FetchedRecord {
  readonly position: number;
  readonly batchContext: BatchContext;
  private readonly buffer: Buffer;
  private readonly start: number;
  private readonly end: number;

  /** The record is in `buffer` from `start`, after its length, up to but excluding `end`. */
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

  /** Exact up to 2^52 ms since the epoch. */
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
    cursor.skipBytes();
    return cursor.bytes();
  }

  /** All headers in order; none if they exceed twice the limits of a message. */
  get headerList(): MessageHeaders {
    return this.exceed(READ_UP_TO) === undefined ? readHeaders(this.atHeaders()) : NO_HEADERS;
  }

  /** Rejects a record whose headers exceed the limits of a message. */
  get unreadable(): Unreadable | undefined {
    const excess = this.exceed(1);
    if (excess === undefined) return undefined;
    const { rejection } = rejected('too-large', `the message has ${excess}: left out`);
    return { rejection, omittedBytes: undefined };
  }

  private exceed(factor: number): string | undefined {
    // A header has at least two lengths: so few bytes hold no more headers.
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
    cursor.skipBytes();
    cursor.skipBytes();
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

/** Reads the parts of a record one after the other; bytes after the end count as zeros. */
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

  /** Reads bytes after their length; null for a length of -1. */
  bytes(): Buffer | null {
    const length = this.varint();
    if (length === NONE) return null;
    return this.buffer.subarray(this.at, (this.at += length));
  }

  headerName(): string {
    const length = this.varint();
    return this.buffer.toString('utf8', this.at, (this.at += length));
  }

  /** Skips the bytes that {@link bytes} would read. */
  skipBytes(): void {
    const length = this.varint();
    this.at += Math.max(length, 0);
  }
}

/** A record batch that is rejected as a whole: too large once unpacked, or damaged. */
export class UnreadableBatchError extends Error {
  constructor(
    readonly code: Extract<RejectionCode, 'too-large' | 'invalid-message'>,
    readonly detail: string,
  ) {
    super(detail);
    this.name = 'UnreadableBatchError';
  }
}

/** Limit of records rejected one by one: a batch may claim 2^31 offsets, and librdkafka packs no more than this. */
const MOST_REJECTED_EACH = 10_000;

/** Stands for one or all records of a rejected batch. */
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
 * Makes a record for each offset that the header of a rejected batch claims, or one for more than 10,000, which names
 * the range. `bytes` is the stored size of the batch.
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

/** Makes a record in place of one with too many bytes to be read. */
export function omittedRecord(
  position: number,
  batch: BatchContext,
  bytes: number,
  most: number,
): UnreadableRecord {
  const { rejection } = rejected('too-large', `the record has ${bytes} bytes, more than ${most}`);
  return new UnreadableRecord(position, batch, { rejection, omittedBytes: bytes });
}

interface FetchedData {
  messages: readonly TransactionalMessage[];
  abortedTransactions?: readonly AbortedTransaction[] | null;
}

/** The batch that kafkajs's consumers receive: a partition's messages in one fetch. */
interface FetchedBatch {
  isEmpty(): boolean;
  isEmptyDueToFiltering(): boolean;
  rawMessages: readonly TransactionalMessage[];
  messagesWithinOffset: readonly TransactionalMessage[];
  messages: readonly TransactionalMessage[];
}

export type BatchClass = new (
  ...fetched: [topic: string, fetchedOffset: string, data: FetchedData]
) => FetchedBatch;

/**
 * A record batch may hold four times as many, and each takes memory besides its bytes while it waits. The next fetch
 * begins after the last message handed on, with the same batch: 100,000 empty messages, all rejected, grew the
 * process by 223 MB at once, and by 173 MB in portions.
 */
const MOST_MESSAGES = 25_000;

/**
 * Chooses the messages of a fetch that are handed on, up to that number: without those before the requested offset,
 * control records, and aborted messages. It creates no object for a message's offset. kafkajs assumes that aborted
 * transactions are sorted by their first offsets, which they are not, and hands on messages of overlapping ones.
 *
 * A fetch without such messages is handed to `eachBatch` like any other, as a batch without messages: kafkajs skips
 * it, and reports it by an event alone, although its offsets count.
 */
export function committedBatch(BatchOfKafkajs: BatchClass): BatchClass {
  return class Batch extends BatchOfKafkajs {
    constructor(topic: string, fetchedOffset: string, data: FetchedData) {
      super(topic, fetchedOffset, { ...data, messages: [] });
      const from = Number(fetchedOffset);
      const first = data.messages.findIndex((message) => positionOf(message) >= from);
      const within = first < 0 ? [] : data.messages.slice(first, first + MOST_MESSAGES);
      const aborted = data.abortedTransactions ?? [];
      const committed = aborted.length === 0 ? within : committedMessages(within, aborted);
      this.rawMessages = data.messages;
      this.messagesWithinOffset = within;
      this.messages = committed.filter((message) => !message.isControlRecord);
    }

    override isEmptyDueToFiltering(): boolean {
      return false;
    }

    override isEmpty(): boolean {
      return this.rawMessages.length === 0;
    }
  };
}

/** The part of a fetched message that decides whether its transaction was committed. */
export interface TransactionalMessage {
  offset: string;
  /** {@link offset} as a number, if `decode-messages.ts` has decoded the message. */
  position?: number;
  key?: Buffer | string | null;
  isControlRecord?: boolean;
  /** Missing in formats before Kafka 0.11, which have no transactions. */
  batchContext?: { producerId?: string; inTransaction?: boolean };
}

/** An aborted transaction in a fetch's answer: it includes its producer's messages from `firstOffset` on. */
export interface AbortedTransaction {
  producerId: string;
  firstOffset: string;
}

/** Kafka's types of control records that end a transaction: abort and commit. */
const ENDS: readonly number[] = [0, 1];
const TYPE_AT = 2;
const MARKER_KEY_BYTES = 4;

function positionOf({ position, offset }: TransactionalMessage): number {
  return position ?? Number(offset);
}

/**
 * Removes the messages of aborted transactions, but not the markers. An aborted transaction begins with its first
 * offset and ends with its producer's next marker; any number may be open at a time.
 *
 * @param messages in the order of their offsets
 * @param aborted in any order: Kafka lists them by their ends, and some may have begun before the fetch
 */
export function committedMessages<M extends TransactionalMessage>(
  messages: readonly M[],
  aborted: readonly AbortedTransaction[],
): M[] {
  const toBegin = aborted
    .map(({ producerId, firstOffset }) => ({ producerId, first: Number(firstOffset) }))
    .sort((a, b) => b.first - a.first);
  const aborting = new Set<string>();
  return messages.filter((message) => {
    const position = positionOf(message);
    for (let next = toBegin.at(-1); next && next.first <= position; next = toBegin.at(-1)) {
      aborting.add(next.producerId);
      toBegin.pop();
    }
    const { producerId = '', inTransaction = false } = message.batchContext ?? {};
    if (message.isControlRecord === true) {
      if (endsTransaction(message)) aborting.delete(producerId);
      return true;
    }
    return !(inTransaction && aborting.has(producerId));
  });
}

/** The key of a control record is its version and type, 16 bits each. That of a message may have the same bytes. */
function endsTransaction({ key }: TransactionalMessage): boolean {
  // The control record at the end of a compacted batch has no key.
  if (!Buffer.isBuffer(key) || key.length < MARKER_KEY_BYTES) return false;
  return ENDS.includes(key.readInt16BE(TYPE_AT));
}
