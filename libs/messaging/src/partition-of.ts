import { Partitioners } from 'kafkajs';

const partitioner = Partitioners.DefaultPartitioner();

/** The partition of a key as every client with Java's default partitioner computes it (murmur2). */
export function partitionOf(key: string, partitions: number): number {
  const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
    partitionId,
    leader: 0,
    partitionErrorCode: 0,
    replicas: [],
    isr: [],
  }));
  return partitioner({ topic: '', partitionMetadata, message: { key, value: null } });
}
