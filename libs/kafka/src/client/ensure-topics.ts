import { Logger } from '@nestjs/common';
import { realDelayMs, realNowMs } from '#libs/clock';
import { ConfigResourceTypes } from '#libs/kafkajs-patches';
import { type AboutTopic, describeKafkaFailure } from './describe-kafka-failure.js';
import type { Admin, KafkaClient, TopicConfig } from './kafka-port.js';
import { isProtocolError } from './protocol-error.js';
import { withAdmin } from './with-admin.js';

const logger = new Logger('Topics');

/** A topic that the bridge needs. */
export interface TopicSpecification {
  name: string;
  /** `compact,delete` is created without retention: records go by tombstone or by deletion up to an offset. */
  cleanupPolicy: 'delete' | 'compact' | 'compact,delete';
  /** Bytes; larger than the broker's default if records carry more than the input did. */
  maxMessageBytes?: number;
  /** Milliseconds after which Kafka closes and compacts a segment; by default only the size and a week count. */
  maxCompactionLagMs?: number;
  /** Time for which records are kept; by default the brokers' setting. */
  retentionMs?: number;
  /** Partitions at creation; by default as many as other topics. */
  partitions?: number;
  /** It has at least as many partitions as each of these topics: one process owns equal partition numbers of all. */
  asWideAs?: readonly string[];
  /** Like `asWideAs`, but never widened later: the hash of a key chooses the partition. */
  createdAsWideAs?: readonly string[];
}

export class MissingTopicsError extends Error {
  constructor(readonly topics: readonly string[]) {
    super(
      `Kafka lacks these topics, or partitions of them, and KAFKA_CREATE_TOPICS is false: ${topics.join(', ')}. ` +
        'Create them, or set KAFKA_CREATE_TOPICS=true. Where they are there, the right to Describe them is missing.',
    );
    this.name = 'MissingTopicsError';
  }
}

/** Creates missing topics; warns if a policy deletes records that must be kept. @throws MissingTopicsError */
export async function ensureTopics(
  kafka: KafkaClient,
  topics: readonly TopicSpecification[],
  options: { create: boolean; partitions: number },
): Promise<void> {
  await withAdmin(kafka, async (admin) => {
    const existing = await partitionCounts(admin);
    const missing = topics.filter(({ name }) => !existing.has(name));
    if (missing.length > 0 && !options.create) {
      throw new MissingTopicsError(missing.map(({ name }) => name));
    }
    await createMissing(admin, missing, existing, options.partitions);
    const names = topics.flatMap(({ name, asWideAs = [] }) => [name, ...asWideAs]);
    const present = missing.length === 0 ? existing : await partitionCounts(admin, names);
    const narrow = narrowTopics(topics, present);
    if (narrow.length > 0 && !options.create) {
      throw new MissingTopicsError(
        narrow.map(({ name, count }) => `${name} (${count} partitions)`),
      );
    }
    for (const topic of narrow) await widen(admin, topic);
    const kept = topics.flatMap(({ cleanupPolicy, name }) =>
      cleanupPolicy !== 'delete' && existing.has(name) ? [name] : [],
    );
    await warnOfDeletion(admin, kept);
  });
}

/** Number of partitions of each topic by name; by default of all topics. */
async function partitionCounts(
  admin: Admin,
  names: readonly string[] = [],
): Promise<ReadonlyMap<string, number>> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [...new Set(names)] });
  return new Map(topics.map(({ name, partitions }) => [name, partitions.length]));
}

/** Kafka writes no more records of its metadata for one request: one for each topic, setting and partition. */
const MOST_RECORDS = 10_000;

/** In as few requests as possible: a broker that is still creating earlier topics does not know later ones. */
async function createMissing(
  admin: Admin,
  missing: readonly TopicSpecification[],
  existing: ReadonlyMap<string, number>,
  partitions: number,
): Promise<void> {
  if (missing.length === 0) return;
  const wanted = missing.map((topic) => {
    const { createdAsWideAs: models, partitions: own = partitions } = topic;
    const widths = models?.map((model) => existing.get(model) ?? partitions) ?? [own];
    return createTopicConfig(topic, Math.max(...widths));
  });
  for (const topics of createdTogether(wanted)) {
    // Another process may create them at the same time: kafkajs returns false for "already exists".
    await admin.createTopics({ waitForLeaders: false, topics });
    const names = topics.map(({ topic }) => topic);
    await untilAsWide(admin, names, 1);
  }
  for (const width of new Set(wanted.map(({ numPartitions }) => numPartitions))) {
    const alike = wanted.filter(({ numPartitions }) => numPartitions === width);
    const created = alike.map(({ topic }) => topic);
    logger.log({ msg: 'topics created', topics: created, partitions: width });
  }
}

function createdTogether(wanted: readonly TopicConfig[]): TopicConfig[][] {
  const requests: TopicConfig[][] = [];
  let records = Infinity;
  for (const topic of wanted) {
    const { numPartitions = 0, configEntries = [] } = topic;
    const own = 1 + configEntries.length + numPartitions;
    records += own;
    if (records > MOST_RECORDS) {
      requests.push([]);
      records = own;
    }
    requests.at(-1)?.push(topic);
  }
  return requests;
}

/** The request that creates a topic, with the brokers' default replication. */
export function createTopicConfig(topic: TopicSpecification, partitions: number): TopicConfig {
  const isKept = topic.cleanupPolicy === 'compact,delete';
  const config = {
    'cleanup.policy': topic.cleanupPolicy,
    'max.message.bytes': topic.maxMessageBytes,
    'max.compaction.lag.ms': topic.maxCompactionLagMs,
    'retention.ms': isKept ? -1 : topic.retentionMs,
    'retention.bytes': isKept ? -1 : undefined,
  };
  const configEntries = Object.entries(config).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, value: String(value) }],
  );
  return { topic: topic.name, numPartitions: partitions, replicationFactor: -1, configEntries };
}

const VISIBLE_DEADLINE_MS = 10_000;
const VISIBLE_POLL_MS = 50;

/** Adds the topic to a broker's answer, which kafkajs leaves out. */
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

/** Topics that {@link ensureTopics} may neither describe nor create. */
export function deniedTopics(error: unknown): readonly string[] {
  const { errors = [error] } = error as { errors?: readonly unknown[] };
  return errors.flatMap((each) => {
    const { topic, type, cause } = each as { topic?: string; type?: string; cause?: unknown };
    const answer = type ?? (isProtocolError(cause) ? cause.type : undefined);
    return topic !== undefined && answer === 'TOPIC_AUTHORIZATION_FAILED' ? [topic] : [];
  });
}

/** Adds partitions. Only for topics not partitioned by key: keys would change their partition. */
async function widen(admin: Admin, { name, count }: NarrowTopic): Promise<void> {
  try {
    await admin.createPartitions({ topicPartitions: [{ topic: name, count }] });
  } catch (error) {
    // Another process has widened it meanwhile, and this broker may not know that yet.
    if (!isProtocolError(error) || error.type !== 'INVALID_PARTITIONS') {
      throw new TopicError(name, 'Alter', error);
    }
  }
  await untilAsWide(admin, [name], count);
  logger.log({ msg: 'partitions added', topic: name, partitions: count });
}

interface NarrowTopic {
  name: string;
  count: number;
}

/** Topics with fewer partitions than those they must be as wide as. */
function narrowTopics(
  topics: readonly { name: string; asWideAs?: readonly string[] }[],
  present: ReadonlyMap<string, number>,
): NarrowTopic[] {
  const countOf = (name: string): number => present.get(name) ?? 0;
  return topics
    .map(({ name, asWideAs = [] }) => ({ name, count: Math.max(0, ...asWideAs.map(countOf)) }))
    .filter(({ name, count }) => count > countOf(name));
}

/** Brokers learn of a change one after the other: a subscription before the last one has would miss it. */
async function untilAsWide(admin: Admin, topics: readonly string[], count: number): Promise<void> {
  const deadlineMs = realNowMs() + VISIBLE_DEADLINE_MS;
  while (!(await areAsWide(admin, topics, count))) {
    if (realNowMs() > deadlineMs) {
      throw new Error(`${topics.join(', ')} do not all show ${count} partitions`);
    }
    await realDelayMs(VISIBLE_POLL_MS);
  }
}

async function areAsWide(admin: Admin, names: readonly string[], count: number): Promise<boolean> {
  try {
    const { topics } = await admin.fetchTopicMetadata({ topics: [...names] });
    return topics.every(
      ({ partitions }) =>
        partitions.length >= count && partitions.every(({ leader }) => leader >= 0),
    );
  } catch (error) {
    // A topic that is being created is unknown, or has no leader yet.
    if (isProtocolError(error) && error.retriable) return false;
    const [only = ''] = names;
    if (names.length === 1) throw new TopicError(only, undefined, error);
    // Kafka's answer does not name the topic at fault.
    for (const name of names) await areAsWide(admin, [name], count);
    return false;
  }
}

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
    // Reading it takes the right to DescribeConfigs, which the bridge needs for nothing else.
    logger.debug({ msg: 'cleanup policies not read', error: describeKafkaFailure(error) });
  }
}

const DELETING = ['cleanup.policy', 'retention.ms', 'retention.bytes'];
const UNLIMITED = '-1';

async function withDeletion(admin: Admin, kept: readonly string[]): Promise<string[]> {
  const configs = await configsOf(admin, kept, DELETING);
  return kept.filter((name) => {
    const [policy, ...limits] = DELETING.map((setting) => configs.get(name)?.get(setting));
    return policy?.split(',').includes('delete') === true && limits.some((it) => it !== UNLIMITED);
  });
}

/** Values of these settings by topic. @throws also without the right for one of the topics */
export async function configsOf(
  admin: Admin,
  topics: readonly string[],
  names: readonly string[],
): Promise<ReadonlyMap<string, ReadonlyMap<string, string>>> {
  const type = ConfigResourceTypes.TOPIC;
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: topics.map((name) => ({ type, name, configNames: [...names] })),
  });
  return new Map(
    resources.map(({ resourceName, configEntries }) => [
      resourceName,
      new Map(configEntries.map(({ configName, configValue }) => [configName, configValue])),
    ]),
  );
}
