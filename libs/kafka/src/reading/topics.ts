import { realDelayMs, realNowMs } from '#libs/clock';
import { leaderNotAvailable, readEndsUncommitted } from '#libs/kafkajs-patches';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import type { Admin, KafkaClient } from '../client/kafka-port.js';
import { isProtocolError } from '../client/protocol-error.js';
import { allEnded, withAdmin } from '../client/with-admin.js';

/** Offsets of one partition, from `from` up to but excluding `until`. */
export interface TopicSpan {
  /** Full name, with the prefix. */
  topic: string;
  partition: number;
  from: number;
  until: number;
}

export function topicNames(kafka: KafkaClient): Promise<string[]> {
  return withAdmin(kafka, (admin) => admin.listTopics());
}

const ABSENT = new Set(['UNKNOWN_TOPIC_OR_PARTITION', 'TOPIC_AUTHORIZATION_FAILED']);

/** Whether a broker's answer is that a topic is absent or hidden: without the right to Describe both look alike. */
export function isAbsentTopic(error: unknown): boolean {
  return isProtocolError(error) && ABSENT.has(error.type);
}

/** Topics that do not exist or may not be described, with the reason. @throws when Kafka does not answer */
export function absentTopics(
  kafka: KafkaClient,
  topics: Iterable<string>,
): Promise<ReadonlyMap<string, string>> {
  return withAdmin(kafka, async (admin) => {
    const absent = new Map<string, string>();
    // Kafka's answer for several topics does not name the one at fault.
    for (const topic of topics) {
      try {
        await admin.fetchTopicMetadata({ topics: [topic] });
      } catch (error) {
        if (!isAbsentTopic(error)) throw error;
        absent.set(topic, describeKafkaFailure(error, { right: 'Read', topics: [topic] }));
      }
    }
    return absent;
  });
}

/** Requests in flight, by topic. */
const counting = new WeakMap<KafkaClient, Map<string, Promise<number>>>();

/**
 * Number of partitions of a topic. Concurrent callers share a request: partitions are assigned by the dozen. @throws
 * when Kafka does not answer or the topic does not exist
 */
export function partitionCount(kafka: KafkaClient, topic: string): Promise<number> {
  const ofClient = counting.get(kafka) ?? new Map<string, Promise<number>>();
  counting.set(kafka, ofClient);
  const underWay = ofClient.get(topic);
  if (underWay !== undefined) return underWay;
  const count = countPartitions(kafka, topic).finally(() => ofClient.delete(topic));
  ofClient.set(topic, count);
  return count;
}

async function countPartitions(kafka: KafkaClient, topic: string): Promise<number> {
  const { topics } = await withAdmin(kafka, (admin) =>
    admin.fetchTopicMetadata({ topics: [topic] }),
  );
  const partitions = topics.find(({ name }) => name === topic)?.partitions.length ?? 0;
  if (partitions === 0) throw new Error(`topic ${topic} has no partitions`);
  return partitions;
}

/**
 * Current spans of a topic's partitions, up to the last stable offset. The last offsets may be markers, which are
 * never delivered. @throws when the topic does not exist or Kafka does not answer
 */
export function topicSpans(kafka: KafkaClient, topic: string): Promise<TopicSpan[]> {
  return withAdmin(kafka, (admin) => fetchLedSpans(admin, topic));
}

/** Like {@link topicSpans}, but up to the end of all records, committed or not. */
export function uncommittedSpans(kafka: KafkaClient, topic: string): Promise<TopicSpan[]> {
  return withAdmin(kafka, (admin) => {
    readEndsUncommitted(admin);
    return fetchLedSpans(admin, topic);
  });
}

/** @throws LEADER_NOT_AVAILABLE as {@link requireLeaders} */
function fetchLedSpans(admin: Admin, topic: string): Promise<TopicSpan[]> {
  return untilReady(async () => requireLeaders(await fetchSpans(admin, topic)));
}

/** Whether the partition has a leader: without one, its offsets are -1. */
export function hasLeader({ from, until }: Pick<TopicSpan, 'from' | 'until'>): boolean {
  return from >= 0 && until >= 0;
}

/** @throws LEADER_NOT_AVAILABLE if one of the partitions has no leader */
export function requireLeaders<S extends TopicSpan>(spans: S[]): S[] {
  if (!spans.every(hasLeader)) throw leaderNotAvailable();
  return spans;
}

/** Spans of all partitions; without a leader, see {@link hasLeader}. */
async function fetchSpans(admin: Admin, topic: string): Promise<TopicSpan[]> {
  const partitions = await admin.fetchTopicOffsets(topic);
  return partitions
    .map(({ partition, low, high }) => {
      return { topic, partition, from: Number(low), until: Number(high) };
    })
    .sort((a, b) => a.partition - b.partition);
}

/** A partition's span with the offset that a group has committed; undefined if that is unknown. */
interface CommittedSpan extends TopicSpan {
  /** -1 if nothing is committed. */
  committed: number | undefined;
  metadata: string | null;
}

/**
 * Spans of all partitions, also those without a leader ({@link hasLeader}), to the end of all records, committed or
 * not. The admin must serve nothing else. @throws when a topic does not exist or Kafka does not answer
 */
export async function committedSpans(
  admin: Admin,
  groupId: string,
  topics: readonly string[],
): Promise<CommittedSpan[]> {
  readEndsUncommitted(admin);
  const [commits, ...spans] = await allEnded([
    untilReady(() => admin.fetchOffsets({ groupId, topics: [...topics] })),
    ...topics.map((topic) => untilReady(() => fetchSpans(admin, topic))),
  ]);
  return spans.flat().map((span) => {
    const { partitions } = commits.find(({ topic }) => topic === span.topic) ?? {};
    const commit = partitions?.find(({ partition }) => partition === span.partition);
    const { offset, metadata = null } = commit ?? {};
    return { ...span, committed: offset === undefined ? undefined : Number(offset), metadata };
  });
}

/** The latest records of each partition since `sinceMs` (epoch milliseconds), at most `maxPerPartition`. */
export async function latestSpans(
  kafka: KafkaClient,
  topic: string,
  { sinceMs, maxPerPartition }: { sinceMs: number; maxPerPartition: number },
): Promise<TopicSpan[]> {
  const [starts, spans] = await withAdmin(kafka, (admin) =>
    allEnded([
      untilReady(() => admin.fetchTopicOffsetsByTimestamp(topic, sinceMs)),
      fetchLedSpans(admin, topic),
    ]),
  );
  return spans.map((span) => {
    const start = starts.find(({ partition }) => partition === span.partition);
    return { ...span, from: Math.max(Number(start?.offset ?? 0), span.until - maxPerPartition) };
  });
}

/** A new partition, or one whose leader is changing, has no leader for a moment. */
const WITHOUT_LEADER = ['NOT_LEADER_FOR_PARTITION', 'LEADER_NOT_AVAILABLE'];
/** Nor has a group a coordinator on a broker that has just started or taken it over. */
const WITHOUT_COORDINATOR = ['NOT_COORDINATOR_FOR_GROUP', 'GROUP_LOAD_IN_PROGRESS'];
const PASSING = new Set([...WITHOUT_LEADER, ...WITHOUT_COORDINATOR]);
const READY_DEADLINE_MS = 10_000;
const READY_POLL_MS = 100;

async function untilReady<T>(ask: () => Promise<T>): Promise<T> {
  const deadlineMs = realNowMs() + READY_DEADLINE_MS;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const passes = isProtocolError(error) && PASSING.has(error.type);
      if (!passes || realNowMs() > deadlineMs) throw error;
      await realDelayMs(READY_POLL_MS);
    }
  }
}
