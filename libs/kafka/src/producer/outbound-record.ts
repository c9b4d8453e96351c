import type { MessageHeaders } from '#libs/contracts';
import {
  CompressionTypes,
  type ICustomPartitioner,
  Partitioners,
  UnencodableMessageError,
  unsentBatches,
} from '#libs/kafkajs-patches';
import type { Message, TopicMessages } from '../client/kafka-port.js';

export interface OutboundRecord {
  /** Full name, prefix included. */
  topic: string;
  key: Buffer | string | null;
  value: Buffer | string | null;
  /** An object for the bridge's own headers, a list for those that it forwards. */
  headers: MessageHeaders | Readonly<Record<string, string>>;
  /** Chooses the partition by its hash; without it, the key does. */
  partitionKey?: string;
  /** Only where no hash chooses the partition. */
  partition?: number;
  /** Epoch milliseconds, or -1 for none, as text; without it, when it is sent. */
  timestamp?: string;
  /** A record of state: its partition is given, and yet it is read by its key alone. */
  isState?: true;
  /** Makes a record in place of a refused one; without it, that must be written as it is or not at all. */
  leaner?: (refusal: RecordRefusedError) => OutboundRecord;
}

/** A record that Kafka, or the client, will never take however often it is sent. */
export class RecordRefusedError extends Error {
  constructor(
    /** `too-large` is a broker's answer, `beyond-bound` our own: no setting of a topic changes that. */
    readonly code: 'too-large' | 'beyond-bound' | 'unencodable' | 'ill-dated' | 'keyless',
    cause: Error,
    /** The topic that the broker's answer names, where it names one. */
    readonly topic?: string,
  ) {
    super(`the record is ${code}: ${cause.message}`, { cause });
    this.name = 'RecordRefusedError';
  }
}

const TOO_LARGE = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE']);

/**
 * Distinguishes a refusal of records, which must not be retried for ever, from an outage, which must. The time of a
 * record is this host's clock at each try, so that a refused time is a matter of the clocks. Any other error of the
 * client, even a bug, passes with the connection or the metadata that it came from.
 *
 * @param hasOwnTime the time was given with the record, and will be the same at the next try
 * @param isKeyless the record, or one of them, has no key
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

function isTooLarge(error: unknown): boolean {
  return isError(error) && TOO_LARGE.has(String(error.type));
}

/** Not instanceof: an error may come from another realm. */
function isError(value: unknown): value is Error & { type?: unknown } {
  return typeof value === 'object' && value !== null && 'name' in value && 'message' in value;
}

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

/** The partition of a key as every client with Java's default partitioner computes it (murmur2). */
export function partitionOf(key: Buffer | string, partitions: number): number {
  const bytes = typeof key === 'string' ? Buffer.from(key) : key;
  const positive = murmur2(bytes) & 0x7fffffff;
  return positive % partitions;
}

/** For producers: by the record's partition, else by its partition key, else by its key, else by turns. */
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

/** Kafka's hash of keys (murmur2, signed 32 bits). kafkajs's own takes minutes for a key of a megabyte. */
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
