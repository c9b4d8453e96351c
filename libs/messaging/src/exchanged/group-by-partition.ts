import { type Message, type PartitionMetadata } from 'kafkajs';

/** What kafkajs gives to the sharing out of a topic's messages. */
export interface MessagesOfTopic {
  topic: string;
  partitionMetadata: readonly PartitionMetadata[];
  messages: readonly Message[];
  partitioner: (choice: {
    topic: string;
    partitionMetadata: readonly PartitionMetadata[];
    message: Message;
  }) => number;
}

/** The messages by partition, in their order. kafkajs by itself copies the list of a partition for every message. */
export function groupByPartition(given: MessagesOfTopic): Record<number, Message[]> {
  const { topic, partitionMetadata, messages, partitioner } = given;
  const groups: Record<number, Message[]> = {};
  if (partitionMetadata.length === 0) return groups;
  for (const message of messages) {
    const group = (groups[partitioner({ topic, partitionMetadata, message })] ??= []);
    group.push(message);
  }
  return groups;
}
