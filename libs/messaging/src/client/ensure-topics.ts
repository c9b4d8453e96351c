import { Logger } from '@nestjs/common';
import { type Admin, type ITopicConfig, type Kafka } from 'kafkajs';
import { withAdmin } from './with-admin.js';

/** A topic the bridge needs, by its full name (prefix included). */
export interface TopicSpecification {
  name: string;
  cleanupPolicy: 'delete' | 'compact';
  /** Bytes; larger than the broker's default where records carry more than the input did. */
  maxMessageBytes?: number;
  /** Has at least as many partitions as each of these: what belongs together is owned together, by partition. */
  asWideAs?: readonly string[];
}

export class MissingTopicsError extends Error {
  readonly code = 'missing-topics';
  readonly retryable = false;

  constructor(readonly topics: readonly string[]) {
    super(
      `Kafka lacks these topics and KAFKA_CREATE_TOPICS is false: ${topics.join(', ')}. ` +
        'Create them, or set KAFKA_CREATE_TOPICS=true.',
    );
    this.name = 'MissingTopicsError';
  }
}

/**
 * Creates the topics that are missing and leaves the others as they are.
 *
 * @throws MissingTopicsError when topics are missing and may not be created
 */
export async function ensureTopics(
  kafka: Kafka,
  topics: readonly TopicSpecification[],
  options: { create: boolean; partitions: number },
): Promise<void> {
  await withAdmin(kafka, async (admin) => {
    const existing = new Set(await admin.listTopics());
    const missing = topics.filter((topic) => !existing.has(topic.name));
    if (missing.length > 0 && !options.create) {
      throw new MissingTopicsError(missing.map((topic) => topic.name));
    }
    if (missing.length > 0) await createTopics(admin, missing, options.partitions);
    if (options.create) await widen(admin, topics);
  });
}

async function createTopics(
  admin: Admin,
  missing: readonly TopicSpecification[],
  partitions: number,
): Promise<void> {
  const names = missing.map((topic) => topic.name);
  // Another process may create them at the same time: kafkajs answers false for "already exists".
  await admin.createTopics({
    waitForLeaders: true,
    topics: missing.map((topic) => topicConfig(topic, partitions)),
  });
  new Logger('Topics').log({ msg: 'topics created', topics: names, partitions });
}

/** Only topics that no key's hash shares out may grow: the others would change hands. */
async function widen(admin: Admin, topics: readonly TopicSpecification[]): Promise<void> {
  for (const { name, asWideAs } of topics) {
    if (asWideAs === undefined || asWideAs.length === 0) continue;
    const { topics: found } = await admin.fetchTopicMetadata({ topics: [name, ...asWideAs] });
    const own = found.find((topic) => topic.name === name)?.partitions.length ?? 0;
    const count = Math.max(...found.map((topic) => topic.partitions.length));
    if (count <= own) continue;
    try {
      await admin.createPartitions({ topicPartitions: [{ topic: name, count }] });
    } catch (error) {
      // Another process may have widened it meanwhile.
      if ((await partitionsOf(admin, name)) < count) throw error;
    }
    new Logger('Topics').log({ msg: 'partitions added', topic: name, partitions: count });
  }
}

async function partitionsOf(admin: Admin, topic: string): Promise<number> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  return topics[0]?.partitions.length ?? 0;
}

function topicConfig(topic: TopicSpecification, partitions: number): ITopicConfig {
  const configEntries: { name: string; value: string }[] = [
    { name: 'cleanup.policy', value: topic.cleanupPolicy },
  ];
  if (topic.maxMessageBytes !== undefined) {
    configEntries.push({ name: 'max.message.bytes', value: String(topic.maxMessageBytes) });
  }
  return { topic: topic.name, numPartitions: partitions, replicationFactor: -1, configEntries };
}
