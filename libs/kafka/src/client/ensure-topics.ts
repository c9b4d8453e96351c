import { Logger } from '@nestjs/common';
import { type Admin, type ITopicConfig, type Kafka } from '#libs/kafkajs-patches';
import { narrowTopics, untilAsWide, widen, widthOf } from './topic-width.js';
import { warnOfDeletion } from './warn-of-deletion.js';
import { withAdmin } from './with-admin.js';

/** A topic the bridge needs, by its full name (prefix included). */
export interface TopicSpecification {
  name: string;
  /** Of the last, nothing is removed but what is deleted up to an offset, or has a tombstone. */
  cleanupPolicy: 'delete' | 'compact' | 'compact,delete';
  /** Bytes; larger than the broker's default where records carry more than the input did. */
  maxMessageBytes?: number;
  /** Has at least as many partitions as each of these: what belongs together is owned together, by partition. */
  asWideAs?: readonly string[];
  /** As `asWideAs`, but never widened later: a key's hash shares its records out. */
  createdAsWideAs?: readonly string[];
}

export class MissingTopicsError extends Error {
  readonly code = 'missing-topics';
  readonly retryable = false;

  constructor(readonly topics: readonly string[]) {
    super(
      `Kafka lacks these topics, or partitions of them, and KAFKA_CREATE_TOPICS is false: ${topics.join(', ')}. ` +
        'Create them, or set KAFKA_CREATE_TOPICS=true. Where they are there, the right to Describe them is missing.',
    );
    this.name = 'MissingTopicsError';
  }
}

/**
 * Creates the topics that are missing and leaves the others as they are; says which of these lose what they are to keep.
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
    await createMissing(admin, missing, options.partitions);
    const narrow = await narrowTopics(admin, topics);
    if (narrow.length > 0 && !options.create) {
      throw new MissingTopicsError(
        narrow.map(({ name, count }) => `${name} (${count} partitions)`),
      );
    }
    for (const topic of narrow) await widen(admin, topic);
    const kept = topics.filter(({ cleanupPolicy }) => cleanupPolicy !== 'delete');
    const names = kept.map(({ name }) => name);
    await warnOfDeletion(
      admin,
      names.filter((name) => existing.has(name)),
    );
  });
}

/** Those made as wide as others come last, when these are there for certain. */
async function createMissing(
  admin: Admin,
  missing: readonly TopicSpecification[],
  partitions: number,
): Promise<void> {
  const first = missing.filter(({ createdAsWideAs }) => createdAsWideAs === undefined);
  if (first.length > 0) await createTopics(admin, first, partitions);
  for (const topic of missing) {
    const { createdAsWideAs: models } = topic;
    if (models === undefined) continue;
    await createTopics(admin, [topic], await widthOf(admin, models));
  }
}

async function createTopics(
  admin: Admin,
  missing: readonly TopicSpecification[],
  partitions: number,
): Promise<void> {
  const names = missing.map((topic) => topic.name);
  // Another process may create them at the same time: kafkajs answers false for "already exists".
  await admin.createTopics({
    waitForLeaders: false,
    topics: missing.map((topic) => topicConfig(topic, partitions)),
  });
  for (const name of names) await untilAsWide(admin, name, 1);
  new Logger('Topics').log({ msg: 'topics created', topics: names, partitions });
}

function topicConfig(topic: TopicSpecification, partitions: number): ITopicConfig {
  const configEntries: { name: string; value: string }[] = [
    { name: 'cleanup.policy', value: topic.cleanupPolicy },
  ];
  if (topic.maxMessageBytes !== undefined) {
    configEntries.push({ name: 'max.message.bytes', value: String(topic.maxMessageBytes) });
  }
  if (topic.cleanupPolicy === 'compact,delete') {
    configEntries.push(
      { name: 'retention.ms', value: '-1' },
      { name: 'retention.bytes', value: '-1' },
    );
  }
  return { topic: topic.name, numPartitions: partitions, replicationFactor: -1, configEntries };
}
