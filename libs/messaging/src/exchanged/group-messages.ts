/** Where a message says itself where it belongs. */
interface Placed {
  partition?: number;
}

export interface Sharing<M> {
  topic: string;
  partitionMetadata: readonly unknown[];
  messages: readonly M[];
  /** For those that do not say where they belong. */
  partitioner: (choice: {
    topic: string;
    partitionMetadata: readonly unknown[];
    message: M;
  }) => number;
}

/**
 * Messages by partition in their order. kafkajs makes a new list of a partition's messages for each of them, and
 * drops without a word those of a partition that the topic does not have, or that is not known yet.
 *
 * @throws Error which passes when the partition comes to be known
 */
export function groupMessages<M>(sharing: Sharing<M>): Record<number, M[]> {
  const { topic, partitionMetadata, messages, partitioner } = sharing;
  const groups: Record<number, M[]> = {};
  if (partitionMetadata.length === 0) return groups;
  for (const message of messages) {
    const { partition = partitioner({ topic, partitionMetadata, message }) } = message as Placed;
    if (partition >= partitionMetadata.length) {
      throw new Error(`${topic} has ${partitionMetadata.length} partitions, and no ${partition}`);
    }
    (groups[partition] ??= []).push(message);
  }
  return groups;
}
