import { type ICustomPartitioner, Partitioners } from '#libs/kafkajs-patches';
import type { Message } from '../client/kafka-port.js';
import type { OutboundRecord } from './outbound-record.js';

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
