import { type KafkaClient } from './kafka-port.js';
import { withAdmin } from './with-admin.js';

/**
 * Partitions a topic has: it may have been created by somebody else, with a number of its own.
 *
 * @throws when Kafka does not answer or the topic does not exist
 */
export async function partitionCount(kafka: KafkaClient, topic: string): Promise<number> {
  const { topics } = await withAdmin(kafka, (admin) =>
    admin.fetchTopicMetadata({ topics: [topic] }),
  );
  const partitions = topics.find(({ name }) => name === topic)?.partitions.length ?? 0;
  if (partitions === 0) throw new Error(`topic ${topic} has no partitions`);
  return partitions;
}
