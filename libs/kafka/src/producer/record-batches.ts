import { CompressionTypes } from '#libs/kafkajs-patches';
import type { Message, TopicMessages } from '../client/kafka-port.js';
import { type OutboundRecord, RecordRefusedError } from './outbound-record.js';

const MIB = 1024 * 1024;

/** Below the broker's default of 1 MB for a record batch, since a batch too large is refused as a whole. */
export const MAX_BATCH_BYTES = 512 * 1024;
/**
 * A record so large came compressed, and is sent compressed: a broker closes the connection on a request beyond
 * `socket.request.max.bytes` (100 MiB), and sent again and again it would stop all others.
 */
const COMPRESS_FROM_BYTES = 16 * MIB;
/** Never sent: that it can be compressed is not certain, and each try takes its size in memory once more. */
export const MAX_RECORD_BYTES = 48 * MIB;
/** Headers and framing, roughly: the bound it serves has room to spare. */
const OVERHEAD_BYTES = 512;

export function byteLength(record: Pick<OutboundRecord, 'key' | 'value'>): number {
  const size = (part: Buffer | string | null): number =>
    part === null ? 0 : Buffer.byteLength(part);
  return size(record.key) + size(record.value) + OVERHEAD_BYTES;
}

/** All of them in their order, as many together as fit into `maxBytes`, and at least one. */
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

/** @throws RecordRefusedError */
export function assertSendable(record: OutboundRecord): void {
  const bytes = byteLength(record);
  if (bytes <= MAX_RECORD_BYTES) return;
  const limit = `${bytes} bytes, of ${MAX_RECORD_BYTES} at most`;
  throw new RecordRefusedError('beyond-bound', new Error(limit));
}

export function mustCompress(bytes: number): boolean {
  return bytes >= COMPRESS_FROM_BYTES;
}

export function compressionOf(isCompressed: boolean): CompressionTypes {
  return isCompressed ? CompressionTypes.GZIP : CompressionTypes.None;
}

/** The shape of kafkajs's sendBatch; the records of a topic keep their order. */
export function toTopicMessages(records: readonly OutboundRecord[]): TopicMessages[] {
  const topics = new Map<string, TopicMessages>();
  for (const record of records) {
    const { topic } = record;
    let entry = topics.get(topic);
    if (entry === undefined) topics.set(topic, (entry = { topic, messages: [] }));
    // Taken as it is: kafkajs reads of a message what it knows, and headers are ours to write.
    entry.messages.push(record as Message);
  }
  return [...topics.values()];
}
