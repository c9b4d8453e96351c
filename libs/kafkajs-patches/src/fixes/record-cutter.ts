import { type BatchContext, Cursor, DecodedRecord } from './decoded-record.js';
import { omittedRecord, UnreadableBatchError, type UnreadableRecord } from './unreadable-batch.js';

/** So many bytes of records are kept together: few enough not to matter when one of them waits for long. */
const SHARED_BYTES = 8 * 1024;
/** Of a record that is longer, and comes in several pieces, each piece is put where it belongs at once. */
const LONG_BYTES = 256 * 1024;
/**
 * A record that is longer is read no further than its offset: its dead letter would hardly fit into a topic (16 MiB by
 * default), and while one is collected as garbage two more are read.
 */
const MAX_RECORD_BYTES = 32 * 1024 * 1024;
/** Length, attributes and both deltas of a record take less. */
const HEAD_BYTES = 64;
/** Attributes, two deltas, key, value and headers, of one byte each. */
const SHORTEST_BYTES = 6;
const NOTHING = Buffer.alloc(0);

interface LongRecord {
  /** All of it, or its beginning where it is omitted. */
  bytes: Buffer;
  length: number;
  filled: number;
}

/**
 * Cuts the bytes of a batch into its records, piece by piece as they are unpacked, and puts the bytes of the records
 * by: what is read of a fetch itself would keep all of that in memory for as long as one record waits.
 */
export class RecordCutter {
  readonly records: (DecodedRecord | UnreadableRecord)[] = [];
  /** The beginning of a record that has not come to its end. */
  private rest = NOTHING;
  private long: LongRecord | undefined;

  constructor(
    private readonly count: number,
    private readonly batch: BatchContext,
  ) {}

  /**
   * Nothing of the piece is kept.
   *
   * @throws UnreadableBatchError when the end of a record cannot be found
   */
  push(piece: Buffer): void {
    let bytes = piece;
    if (this.long !== undefined) bytes = this.fill(this.long, piece);
    else if (this.rest.length > 0) bytes = Buffer.concat([this.rest, piece]);
    this.rest = NOTHING;
    const from = this.cut(bytes);
    if (from < bytes.length && this.records.length < this.count) this.keep(bytes.subarray(from));
  }

  /** @throws UnreadableBatchError when records are missing */
  end(): (DecodedRecord | UnreadableRecord)[] {
    const { records, count } = this;
    if (records.length === count) return records;
    throw damaged(`${records.length} of the batch's ${count} records are there`);
  }

  /** Returns what is behind the record. */
  private fill(long: LongRecord, piece: Buffer): Buffer {
    const taken = Math.min(piece.length, long.length - long.filled);
    piece.copy(long.bytes, long.filled);
    long.filled += taken;
    if (long.filled === long.length) {
      this.long = undefined;
      if (long.bytes.length < long.length) this.omit(long.bytes, long.length);
      else this.add(long.bytes, 1);
    }
    return piece.subarray(taken);
  }

  /** Returns where the first record begins that is not all there. */
  private cut(bytes: Buffer): number {
    let from = 0;
    while (this.records.length < this.count) {
      const { until, sharing } = share(bytes, from, this.count - this.records.length);
      if (sharing === 0) break;
      const whole = bytes.subarray(from, until);
      if (whole.length > MAX_RECORD_BYTES) this.omit(whole, whole.length);
      else this.add(copyOf(whole), sharing);
      from = until;
    }
    return from;
  }

  private keep(rest: Buffer): void {
    const length = endOfRecord(rest, 0) ?? 0;
    if (length < LONG_BYTES) {
      this.rest = Buffer.from(rest);
      return;
    }
    const bytes = Buffer.allocUnsafeSlow(length > MAX_RECORD_BYTES ? HEAD_BYTES : length);
    rest.copy(bytes);
    this.long = { bytes, length, filled: rest.length };
  }

  private omit(head: Buffer, length: number): void {
    const cursor = new Cursor(head, 0);
    const bytes = cursor.varint();
    const { position, timestamp } = new DecodedRecord(head, cursor.at, bytes, this.batch);
    const batch = { ...this.batch, firstTimestamp: timestamp };
    this.records.push(omittedRecord(position, batch, length, MAX_RECORD_BYTES));
  }

  private add(kept: Buffer, sharing: number): void {
    const cursor = new Cursor(kept, 0);
    for (let one = 0; one < sharing; one += 1) {
      const length = cursor.varint();
      const end = cursor.at + length;
      this.records.push(new DecodedRecord(kept, cursor.at, end, this.batch));
      cursor.at = end;
    }
  }
}

/** In memory of its own: Node 24's pool, of which Buffer.from takes, would keep 64 KiB for as long as one record waits. */
function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

/** How many whole records from there on share what is kept, and where the last of them ends. */
function share(bytes: Buffer, from: number, most: number): { until: number; sharing: number } {
  let [until, sharing] = [from, 0];
  for (; sharing < most; sharing += 1) {
    const end = endOfRecord(bytes, until);
    if (end === undefined || end > bytes.length) break;
    if (sharing > 0 && end - from > SHARED_BYTES) break;
    until = end;
  }
  return { until, sharing };
}

/** Where the record ends that begins there, which may be behind the bytes; undefined when they do not show it. */
function endOfRecord(bytes: Buffer, start: number): number | undefined {
  const cursor = new Cursor(bytes, start);
  const length = cursor.varint();
  if (cursor.at > bytes.length) return undefined;
  if (length < SHORTEST_BYTES) throw damaged(`a record has ${length} bytes`);
  return cursor.at + length;
}

function damaged(detail: string): UnreadableBatchError {
  return new UnreadableBatchError('invalid-message', detail);
}
