import { rejected, type RejectionCode } from '#libs/contracts';
import {
  type BatchContext,
  type FetchedRecord,
  NO_HEADERS,
  type Unreadable,
} from './decoded-record.js';

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

/**
 * A batch may claim two thousand million offsets, and one of a few kilobytes does hold sixty million records. Up to
 * this many each of them is rejected by itself: librdkafka puts no more into a batch unless it is configured to.
 */
const MOST_REJECTED_EACH = 10_000;
const LOG_APPEND_TIME = 1;

/** Stands for a record of a batch that is refused, or for all of them. */
export class UnreadableRecord implements FetchedRecord {
  readonly key = null;
  readonly value = null;
  readonly headers = {};
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
 * What stands for the records of a batch that is refused, one for each offset that its header claims. Of more than
 * 10,000 it is one for all, at the first offset, which names the range.
 *
 * @param bytes of the batch as it lies in Kafka
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
