import { type Kafka } from 'kafkajs';

/**
 * Partitions a topic has: it may have been created by somebody else, with a number of its own.
 *
 * @throws when Kafka does not answer or the topic does not exist
 */
export async function partitionCount(kafka: Kafka, topic: string): Promise<number> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    const partitions = topics.find(({ name }) => name === topic)?.partitions.length ?? 0;
    if (partitions === 0) throw new Error(`topic ${topic} has no partitions`);
    return partitions;
  } finally {
    await admin.disconnect();
  }
}
