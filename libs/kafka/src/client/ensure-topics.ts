import { Logger } from '@nestjs/common';
import { realDelayMs, realNowMs } from '#libs/clock';
import { ConfigResourceTypes } from '#libs/kafkajs-patches';
import { type AboutTopic, describeKafkaFailure } from './describe-kafka-failure.js';
import type { Admin, DescribeConfigResponse, KafkaClient, TopicConfig } from './kafka-port.js';
import { isProtocolError } from './protocol-error.js';
import { withAdmin } from './with-admin.js';

/** A topic the bridge needs, by its full name (prefix included). */
export interface TopicSpecification {
  name: string;
  /** Of the last, nothing is removed but what is deleted up to an offset, or has a tombstone. */
  cleanupPolicy: 'delete' | 'compact' | 'compact,delete';
  /** Bytes; larger than the broker's default where records carry more than the input did. */
  maxMessageBytes?: number;
  /** After so long a segment of the log is closed: only closed ones are compacted. */
  segmentMs?: number;
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
 * Creates missing topics and leaves the others as they are; warns of those whose policy deletes what they are to keep.
 *
 * @throws MissingTopicsError when topics are missing and may not be created
 */
export async function ensureTopics(
  kafka: KafkaClient,
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

/** Creates topics that are as wide as others last, when those exist. */
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
    topics: missing.map((topic) => createTopicConfig(topic, partitions)),
  });
  for (const name of names) await untilAsWide(admin, name, 1);
  new Logger('Topics').log({ msg: 'topics created', topics: names, partitions });
}

/** The request that creates a topic, with the brokers' default replication. */
export function createTopicConfig(topic: TopicSpecification, partitions: number): TopicConfig {
  const configEntries: { name: string; value: string }[] = [
    { name: 'cleanup.policy', value: topic.cleanupPolicy },
  ];
  if (topic.maxMessageBytes !== undefined) {
    configEntries.push({ name: 'max.message.bytes', value: String(topic.maxMessageBytes) });
  }
  if (topic.segmentMs !== undefined) {
    configEntries.push({ name: 'segment.ms', value: String(topic.segmentMs) });
  }
  if (topic.cleanupPolicy === 'compact,delete') {
    configEntries.push(
      { name: 'retention.ms', value: '-1' },
      { name: 'retention.bytes', value: '-1' },
    );
  }
  return { topic: topic.name, numPartitions: partitions, replicationFactor: -1, configEntries };
}

const VISIBLE_DEADLINE_MS = 10_000;
const VISIBLE_POLL_MS = 50;

/** Names the topic of an answer, which kafkajs does not. */
class TopicError extends Error implements AboutTopic {
  constructor(
    readonly topic: string,
    readonly right: AboutTopic['right'],
    cause: unknown,
  ) {
    super(`${topic}: ${String(cause)}`, { cause });
    this.name = 'TopicError';
  }
}

/** Adds partitions; only to topics whose records are not partitioned by key, because keys would change their partition. */
async function widen(admin: Admin, { name, count }: NarrowTopic): Promise<void> {
  try {
    await admin.createPartitions({ topicPartitions: [{ topic: name, count }] });
  } catch (error) {
    // Another process has widened it meanwhile, which may not show yet.
    if (!isProtocolError(error) || error.type !== 'INVALID_PARTITIONS') {
      throw new TopicError(name, 'Alter', error);
    }
  }
  await untilAsWide(admin, name, count);
  new Logger('Topics').log({ msg: 'partitions added', topic: name, partitions: count });
}

interface NarrowTopic {
  name: string;
  /** Partitions it needs. */
  count: number;
}

/** The topics with fewer partitions than those that they must be as wide as. */
async function narrowTopics(
  admin: Admin,
  topics: readonly { name: string; asWideAs?: readonly string[] }[],
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

/** Brokers learn of a change one after the other: a subscription before the last one has would miss it. */
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
    throw new TopicError(topic, undefined, error);
  }
}

/** Partitions of the widest of topics that exist. */
async function widthOf(admin: Admin, topics: readonly string[]): Promise<number> {
  const { topics: found } = await admin.fetchTopicMetadata({ topics: [...topics] });
  return Math.max(...found.map((topic) => topic.partitions.length));
}

const logger = new Logger('Topics');

/** Warns of topics that must keep their records but were created elsewhere with a policy that deletes. */
async function warnOfDeletion(admin: Admin, kept: readonly string[]): Promise<void> {
  if (kept.length === 0) return;
  try {
    const topics = await withDeletion(admin, kept);
    if (topics.length === 0) return;
    logger.warn({
      msg: 'topics lose what they hold after their retention: make them compact, see Topics in docs/operations.md',
      topics,
    });
  } catch (error) {
    // To read it takes the right to DescribeConfigs, which nothing else does.
    logger.debug({ msg: 'cleanup policies not read', error: describeKafkaFailure(error) });
  }
}

const UNLIMITED = '-1';

async function withDeletion(admin: Admin, kept: readonly string[]): Promise<string[]> {
  const configNames = ['cleanup.policy', 'retention.ms', 'retention.bytes'];
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: kept.map((name) => ({ type: ConfigResourceTypes.TOPIC, name, configNames })),
  });
  return resources.filter(isLimited).map(({ resourceName }) => resourceName);
}

function isLimited({ configEntries }: DescribeConfigResponse['resources'][number]): boolean {
  const valueOf = new Map(configEntries.map((entry) => [entry.configName, entry.configValue]));
  if (valueOf.get('cleanup.policy')?.split(',').includes('delete') !== true) return false;
  return [valueOf.get('retention.ms'), valueOf.get('retention.bytes')].some(
    (limit) => limit !== UNLIMITED,
  );
}
