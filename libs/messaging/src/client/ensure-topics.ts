import { Logger } from '@nestjs/common';
import { type Admin, type ITopicConfig, type Kafka } from 'kafkajs';
import { realDelayMs, realNowMs } from '#libs/clock';
import { isProtocolError } from './protocol-error.js';
import { withAdmin } from './with-admin.js';

const VISIBLE_DEADLINE_MS = 10_000;
const VISIBLE_POLL_MS = 50;

/** A topic the bridge needs, by its full name (prefix included). */
export interface TopicSpecification {
  name: string;
  cleanupPolicy: 'delete' | 'compact';
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
    await createMissing(admin, missing, options.partitions);
    const narrow = await narrowTopics(admin, topics);
    if (narrow.length > 0 && !options.create) {
      throw new MissingTopicsError(
        narrow.map(({ name, count }) => `${name} (${count} partitions)`),
      );
    }
    for (const topic of narrow) await widen(admin, topic);
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
    const { topics: found } = await admin.fetchTopicMetadata({ topics: [...models] });
    const count = Math.max(...found.map((model) => model.partitions.length));
    await createTopics(admin, [topic], count);
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

/** Only topics that no key's hash shares out may grow: the others would change hands. */
async function widen(admin: Admin, { name, count }: NarrowTopic): Promise<void> {
  try {
    await admin.createPartitions({ topicPartitions: [{ topic: name, count }] });
  } catch (error) {
    // Another process has widened it meanwhile, which may not show yet.
    if (!isProtocolError(error) || error.type !== 'INVALID_PARTITIONS') throw error;
  }
  await untilAsWide(admin, name, count);
  new Logger('Topics').log({ msg: 'partitions added', topic: name, partitions: count });
}

interface NarrowTopic {
  name: string;
  /** Partitions it needs. */
  count: number;
}

async function narrowTopics(
  admin: Admin,
  topics: readonly TopicSpecification[],
): Promise<NarrowTopic[]> {
  const narrow: NarrowTopic[] = [];
  for (const { name, asWideAs = [] } of topics) {
    if (asWideAs.length === 0) continue;
    const { topics: found } = await admin.fetchTopicMetadata({ topics: [name, ...asWideAs] });
    const own = found.find((topic) => topic.name === name)?.partitions.length ?? 0;
    const count = Math.max(...found.map((topic) => topic.partitions.length));
    if (count > own) narrow.push({ name, count });
  }
  return narrow;
}

/** Brokers learn of a change one after the other; whoever subscribes before the last has would miss it. */
async function untilAsWide(admin: Admin, topic: string, count: number): Promise<void> {
  const deadlineMs = realNowMs() + VISIBLE_DEADLINE_MS;
  while (!(await isAsWide(admin, topic, count))) {
    if (realNowMs() > deadlineMs) throw new Error(`${topic} does not show its ${count} partitions`);
    await realDelayMs(VISIBLE_POLL_MS);
  }
}

async function isAsWide(admin: Admin, topic: string, count: number): Promise<boolean> {
  try {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    const partitions = topics[0]?.partitions ?? [];
    return partitions.length >= count && partitions.every(({ leader }) => leader >= 0);
  } catch (error) {
    // A topic that is just being made is not known yet, or has no leader.
    if (isProtocolError(error) && error.retriable) return false;
    throw error;
  }
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
