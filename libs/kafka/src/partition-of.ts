import { type ICustomPartitioner, type Message, Partitioners } from '#libs/kafkajs-patches';
import { murmur2 } from './murmur2.js';
import { type OutboundRecord } from './producer/outbound-record.js';

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
