import { leaderNotAvailable } from '#libs/kafkajs-patches';
import type { KafkaClient } from '../client/kafka-port.js';
import { withAdmin } from '../client/with-admin.js';
import { parseOffsetMetadata } from '../producer/offset-metadata.js';
import { committedSpans, requireLeaders } from '../reading/topics.js';

interface GroupDescription {
  /** `Dead` if the group does not exist; only `Empty` and `Dead` groups have no members. */
  state: string;
  members: number;
}

export async function describeGroup(
  kafka: KafkaClient,
  groupId: string,
): Promise<GroupDescription> {
  const { groups } = await withAdmin(kafka, (admin) => admin.describeGroups([groupId]));
  const { state = 'Dead', members = [] } = groups[0] ?? {};
  return { state, members: members.length };
}

/** Committed offset of a group in a partition, and the span of the partition. */
export interface GroupOffset {
  topic: string;
  partition: number;
  /** Null if nothing is committed. */
  committed: number | null;
  /** Messages finished above the committed offset, by its metadata. */
  finishedAhead: number;
  /** Offset of the oldest remaining record. */
  first: number;
  end: number;
  /** Offsets from the committed one, or the first, to the end; transaction markers count. */
  lag: number;
}

/** @throws when a topic does not exist or Kafka does not answer */
export async function groupOffsets(
  kafka: KafkaClient,
  groupId: string,
  topics: readonly string[],
): Promise<GroupOffset[]> {
  const spans = await withAdmin(kafka, (admin) => committedSpans(admin, groupId, topics));
  return requireLeaders(spans).map(
    ({ topic, partition, from: first, until: end, committed = -1, metadata }) => {
      const finishedAhead = parseOffsetMetadata(committed, metadata).finished?.count ?? 0;
      const known = committed < 0 ? null : committed;
      const lag = Math.max(0, end - Math.max(committed, first));
      return { topic, partition, committed: known, finishedAhead, first, end, lag };
    },
  );
}

/** For each partition, the offset of its first record not older than `sinceMs` (epoch milliseconds), or its end. */
export async function offsetsSince(
  kafka: KafkaClient,
  topic: string,
  sinceMs: number,
): Promise<ReadonlyMap<number, number>> {
  const found = await withAdmin(kafka, (admin) =>
    admin.fetchTopicOffsetsByTimestamp(topic, sinceMs),
  );
  const offsets = new Map(found.map(({ partition, offset }) => [partition, Number(offset)]));
  if ([...offsets.values()].some((offset) => offset < 0)) throw leaderNotAvailable();
  return offsets;
}

/** Commits offsets without metadata: messages finished ahead are delivered again. @throws when the group has members */
export async function setGroupOffsets(
  kafka: KafkaClient,
  { groupId, topic }: { groupId: string; topic: string },
  offsets: ReadonlyMap<number, number>,
): Promise<void> {
  const partitions = [...offsets].map(([partition, offset]) => ({
    partition,
    offset: String(offset),
  }));
  await withAdmin(kafka, (admin) => admin.setOffsets({ groupId, topic, partitions }));
}

/** The topic's policy or a missing right forbids the deletion of records; a retry does not help. */
export class MayNotDeleteError extends Error {
  constructor(
    readonly topic: string,
    readonly why: string,
  ) {
    super(`records of ${topic} may not be deleted: ${why}`);
    this.name = 'MayNotDeleteError';
  }
}

const NOT_ALLOWED = /^(POLICY_VIOLATION|.*_AUTHORIZATION_FAILED|UNSUPPORTED_VERSION)$/;

/** Deletes the records that a topic's only group has committed. @throws MayNotDeleteError, also with none to delete */
export async function deleteCommitted(
  kafka: KafkaClient,
  groupId: string,
  topic: string,
): Promise<void> {
  await withAdmin(kafka, async (admin) => {
    const spans = requireLeaders(await committedSpans(admin, groupId, [topic]));
    const partitions = spans.map(({ partition, from, until, committed = -1 }) => {
      // A committed offset beyond the end belongs to a former log.
      return { partition, offset: String(committed > until ? from : Math.max(from, committed)) };
    });
    try {
      await admin.deleteTopicRecords({ topic, partitions });
    } catch (error) {
      const answer = answersIn(error).find((each) => NOT_ALLOWED.test(each));
      throw answer === undefined ? error : new MayNotDeleteError(topic, answer);
    }
  });
}

/** The broker's answers for partitions, which kafkajs keeps in the cause of its error. */
function answersIn(error: unknown): string[] {
  const answers: unknown[] = [];
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { type, partitions = [] } = cause as {
      type?: unknown;
      partitions?: readonly { error?: { type?: unknown } }[];
    };
    answers.push(type, ...partitions.map((each) => each.error?.type));
  }
  return answers.map(String);
}
