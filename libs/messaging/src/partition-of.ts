import { type ICustomPartitioner, type Message, Partitioners } from './kafkajs.js';
import { murmur2 } from './murmur2.js';
import { type OutboundRecord } from './outbox/outbound-record.js';

/** The partition of a key as every client with Java's default partitioner computes it (murmur2). */
export function partitionOf(key: Buffer | string, partitions: number): number {
  const bytes = typeof key === 'string' ? Buffer.from(key) : key;
  const positive = murmur2(bytes) & 0x7fffffff;
  return positive % partitions;
}

/** For producers: by the record's partition, else by its partition key, else by its key, else by turns. */
export const partitionByKey: ICustomPartitioner = () => {
  const byTurns = Partitioners.DefaultPartitioner();
  /** A send that is tried again asks again, and may have been taken by the broker of the next turn before. */
  const turns = new WeakMap<Message, number>();
  return (choice) => {
    const { message, partitionMetadata } = choice;
    const { partitionKey } = message as Message & Pick<OutboundRecord, 'partitionKey'>;
    const key = partitionKey ?? message.key ?? undefined;
    if (message.partition !== undefined) return message.partition;
    if (key !== undefined) return partitionOf(key, partitionMetadata.length);
    const turn = turns.get(message) ?? byTurns(choice);
    turns.set(message, turn);
    return turn;
  };
};
