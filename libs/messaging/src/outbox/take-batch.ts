import { type OutboundRecord } from './outbound-record.js';

/** Below the broker's default of 1 MB for a record batch, since a batch too large is refused as a whole. */
export const MAX_BATCH_BYTES = 512 * 1024;
/** Headers and framing, roughly: the bound it serves has room to spare. */
const OVERHEAD_BYTES = 512;

export function byteLength(record: Pick<OutboundRecord, 'key' | 'value'>): number {
  const size = (part: Buffer | string | null): number =>
    part === null ? 0 : Buffer.byteLength(part);
  return size(record.key) + size(record.value) + OVERHEAD_BYTES;
}

/** All of them in their order, in batches as {@link takeBatch} takes them. */
export function* batchesOf(
  records: readonly OutboundRecord[],
  maxBytes: number,
): Iterable<readonly OutboundRecord[]> {
  let batch: OutboundRecord[] = [];
  let total = 0;
  for (const record of records) {
    const bytes = byteLength(record);
    if (batch.length > 0 && total + bytes > maxBytes) {
      yield batch;
      [batch, total] = [[], 0];
    }
    batch.push(record);
    total += bytes;
  }
  if (batch.length > 0) yield batch;
}

/** Takes from the head what fits into `maxBytes` together, and at least one; what is to go alone shares with nothing. */
export function takeBatch<T extends { bytes: number; isAlone?: boolean }>(
  pending: T[],
  maxBytes: number,
): T[] {
  let count = 0;
  let total = 0;
  for (const { bytes, isAlone } of pending) {
    if (count > 0 && (isAlone === true || total + bytes > maxBytes)) break;
    total += bytes;
    count += 1;
    if (isAlone === true) break;
  }
  return pending.splice(0, count);
}
