import { Cursor } from './cursor.js';
import { type BatchContext, DecodedRecord } from './decoded-record.js';
import { tooLarge } from './unpack-batch.js';
import { UnreadableBatchError } from './unreadable-batch.js';

/** So many bytes of records are kept together: few enough not to matter when one of them waits for long. */
const SHARED_BYTES = 8 * 1024;
/** Of a record that is longer, and comes in several pieces, each piece is put where it belongs at once. */
const LONG_BYTES = 256 * 1024;
/** Attributes, two deltas, key, value and headers, of one byte each. */
const SHORTEST_BYTES = 6;
const NOTHING = Buffer.alloc(0);

interface LongRecord {
  bytes: Buffer;
  filled: number;
}

/**
 * Cuts the bytes of a batch into its records, piece by piece as they are unpacked, and puts the bytes of the records
 * by: what is read of a fetch itself would keep all of that in memory for as long as one record waits.
 */
export class RecordCutter {
  readonly records: DecodedRecord[] = [];
  /** The beginning of a record that has not come to its end. */
  private rest = NOTHING;
  private long: LongRecord | undefined;

  constructor(
    private readonly count: number,
    private readonly batch: BatchContext,
    private readonly maxRecordBytes: number,
  ) {}

  /**
   * Nothing of the piece is kept.
   *
   * @throws UnreadableBatchError when there is no telling where a record ends
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
  end(): DecodedRecord[] {
    const { records, count } = this;
    if (records.length === count) return records;
    throw damaged(`${records.length} of the batch's ${count} records are there`);
  }

  /** Returns what is behind the record. */
  private fill(long: LongRecord, piece: Buffer): Buffer {
    const taken = piece.copy(long.bytes, long.filled);
    long.filled += taken;
    if (long.filled === long.bytes.length) {
      this.long = undefined;
      this.add(long.bytes, 1);
    }
    return piece.subarray(taken);
  }

  /** Returns where the first record begins that is not all there. */
  private cut(bytes: Buffer): number {
    let from = 0;
    while (this.records.length < this.count) {
      const { until, sharing } = share(bytes, from, this.count - this.records.length);
      if (sharing === 0) break;
      this.add(Buffer.from(bytes.subarray(from, until)), sharing);
      from = until;
    }
    return from;
  }

  private keep(rest: Buffer): void {
    const needed = endOfRecord(rest, 0) ?? 0;
    const most = this.maxRecordBytes;
    if (needed > most) throw tooLarge(`has a record of ${needed} bytes, more than ${most}`);
    if (needed < LONG_BYTES) {
      this.rest = Buffer.from(rest);
      return;
    }
    const bytes = Buffer.allocUnsafeSlow(needed);
    this.long = { bytes, filled: rest.copy(bytes) };
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

/** Where the record ends that begins there, which may be behind the bytes; undefined when they do not tell. */
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
