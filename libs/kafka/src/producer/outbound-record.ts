import type { MessageHeaders } from '#libs/contracts';
import {
  CompressionTypes,
  type ICustomPartitioner,
  Partitioners,
  UnencodableMessageError,
  unsentBatches,
} from '#libs/kafkajs-patches';
import type { Message, ProducerBatch, TopicMessages } from '../client/kafka-port.js';

export interface OutboundRecord {
  /** Full name, with the prefix. */
  topic: string;
  key: Buffer | string | null;
  value: Buffer | string | null;
  /** An object for the bridge's own headers, a list for forwarded ones. */
  headers: MessageHeaders | Readonly<Record<string, string>>;
  /** Its hash chooses the partition; by default that of the key does. */
  partitionKey?: string;
  /** Set if no hash chooses the partition. */
  partition?: number;
  /** Epoch milliseconds as text, or -1 for none; by default the time of sending. */
  timestamp?: string;
  /** A record of state: its partition is explicit, but its readers rely on its key alone. Losses of its log are noticed. */
  isState?: true;
  /** Makes a record to replace this one if it is refused; without it, the record is written as it is or not at all. */
  leaner?: (refusal: RecordRefusedError) => OutboundRecord;
}

/** A record that Kafka or the client refuses, and would refuse again. */
export class RecordRefusedError extends Error {
  constructor(
    /** `too-large` is a broker's answer, `beyond-bound` our own: no setting of a topic changes it. */
    readonly code: 'too-large' | 'beyond-bound' | 'unencodable' | 'ill-dated' | 'keyless',
    cause: Error,
    /** The topic named in the broker's answer, if any. */
    readonly topic?: string,
  ) {
    super(`the record is ${code}: ${cause.message}`, { cause });
    this.name = 'RecordRefusedError';
  }
}

const TOO_LARGE = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE']);

/**
 * Distinguishes a refusal of records, which must not be retried for ever, from an outage, which must. Each try stamps
 * records with this host's clock, so that a refused time is a matter of the clocks. Any other error of the client,
 * even a bug, passes with the connection or the metadata that it came from.
 *
 * @param hasOwnTime the record has an explicit time, which the next try would repeat
 * @param isKeyless at least one of the records has no key
 */
export function refusalOf(
  error: unknown,
  { hasOwnTime = false, isKeyless = false } = {},
): RecordRefusedError | undefined {
  if (error instanceof RecordRefusedError) return error;
  for (let cause = error; isError(cause); cause = cause.cause) {
    const { name, type } = cause;
    if (isTooLarge(cause)) {
      const batch = unsentBatches(error)?.find(({ refusal }) => isTooLarge(refusal));
      return new RecordRefusedError('too-large', cause, batch?.topic);
    }
    if (hasOwnTime && type === 'INVALID_TIMESTAMP')
      return new RecordRefusedError('ill-dated', cause);
    if (isKeyless && type === 'INVALID_RECORD') {
      const why = 'a topic whose cleanup.policy is compact takes records with a key alone';
      return new RecordRefusedError('keyless', new Error(why, { cause }));
    }
    if (name === UnencodableMessageError.name) return new RecordRefusedError('unencodable', cause);
  }
  return undefined;
}

/** The broker's answer for each topic that it has refused records of; empty if the failure is of no topic. */
export function refusalsByTopic(error: unknown): ReadonlyMap<string, Error> {
  const refused = new Map<string, Error>();
  for (const { topic, refusal } of unsentBatches(error) ?? []) {
    if (refusal !== undefined) refused.set(topic, refusal);
  }
  return refused;
}

function isTooLarge(error: unknown): boolean {
  return isError(error) && TOO_LARGE.has(String(error.type));
}

/** Not instanceof: the error may come from another realm. */
function isError(value: unknown): value is Error & { type?: unknown } {
  return typeof value === 'object' && value !== null && 'name' in value && 'message' in value;
}

const MIB = 1024 * 1024;

/** Less than a broker's default limit of 1 MB for a record batch: a larger batch is refused as a whole. */
export const MAX_BATCH_BYTES = 512 * 1024;
/**
 * A record of this size came compressed, and is sent compressed: brokers close the connection on a request larger
 * than `socket.request.max.bytes` (100 MiB), and retries of it would stop all other records.
 */
const COMPRESS_FROM_BYTES = 16 * MIB;
/** Larger records are never sent: they may not be compressible, and each try takes their size in memory again. */
export const MAX_RECORD_BYTES = 48 * MIB;
/** Rough size of headers and framing: the limit that uses it has room to spare. */
const OVERHEAD_BYTES = 512;

export function byteLength({ key, value }: Pick<OutboundRecord, 'key' | 'value'>): number {
  return Buffer.byteLength(key ?? '') + Buffer.byteLength(value ?? '') + OVERHEAD_BYTES;
}

/** Splits the records, in order, into batches of at most `maxBytes` or one record. */
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

/** Converts records to the argument of kafkajs's sendBatch; those of a topic keep their order. */
export function toProducerBatch(
  records: readonly OutboundRecord[],
  isCompressed: boolean,
): ProducerBatch {
  const topics = new Map<string, TopicMessages>();
  for (const record of records) {
    const { topic } = record;
    let entry = topics.get(topic);
    if (entry === undefined) topics.set(topic, (entry = { topic, messages: [] }));
    // Not copied: kafkajs reads only the fields that it knows, and the patch of its producer writes the headers.
    entry.messages.push(record as Message);
  }
  const compression = isCompressed ? CompressionTypes.GZIP : CompressionTypes.None;
  return { acks: -1, compression, topicMessages: [...topics.values()] };
}

/** Partition of a key as every client with Java's default partitioner computes it (murmur2). */
export function partitionOf(key: Buffer | string, partitions: number): number {
  const bytes = typeof key === 'string' ? Buffer.from(key) : key;
  const positive = murmur2(bytes) & 0x7fffffff;
  return positive % partitions;
}

/** Partitioner of our producers: the record's partition, or the hash of its partition key or key, or round robin. */
export const partitionByKey: ICustomPartitioner = () => {
  const byTurns = Partitioners.DefaultPartitioner();
  return (choice) => {
    const { message, partitionMetadata } = choice;
    const { partitionKey } = message as Message & Pick<OutboundRecord, 'partitionKey'>;
    const key = partitionKey ?? message.key ?? undefined;
    if (key === undefined || message.partition !== undefined) return byTurns(choice);
    return partitionOf(key, partitionMetadata.length);
  };
};

const SEED = 0x9747b28c;
const MIX = 0x5bd1e995;

/** Kafka's hash of keys (murmur2, signed 32 bits). kafkajs's takes minutes for a key of a megabyte. */
function murmur2(data: Buffer): number {
  const whole = data.length - (data.length % 4);
  let hash = SEED ^ data.length;
  for (let at = 0; at < whole; at += 4) {
    let word = Math.imul(data.readInt32LE(at), MIX);
    word ^= word >>> 24;
    hash = Math.imul(hash, MIX) ^ Math.imul(word, MIX);
  }
  if (whole < data.length) {
    hash = Math.imul(hash ^ data.readUIntLE(whole, data.length - whole), MIX);
  }
  hash = Math.imul(hash ^ (hash >>> 13), MIX);
  return hash ^ (hash >>> 15);
}
