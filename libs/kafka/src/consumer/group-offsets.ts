import { leaderNotAvailable } from '#libs/kafkajs-patches';
import type { KafkaClient } from '../client/kafka-port.js';
import { withAdmin } from '../client/with-admin.js';
import { parseOffsetMetadata } from '../producer/offset-metadata.js';
import { committedSpans, requireLeaders } from '../reading/topics.js';

export interface GroupDescription {
  /** `Dead` for a group that does not exist; nobody consumes in `Empty` and `Dead` alone. */
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

/** The committed offset of a group in a partition, and the span of the partition. */
export interface GroupOffset {
  topic: string;
  partition: number;
  /** Null where nothing is committed. */
  committed: number | null;
  /** Messages that are finished behind the committed offset, as its metadata says. */
  finishedAhead: number;
  /** The offset of the oldest record that is left. */
  first: number;
  end: number;
  /** From the committed offset, or the first, to the end; markers of transactions count as well. */
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

/** The first offset of each partition whose record is not older than that (epoch milliseconds); else its end. */
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

/** Commits offsets without metadata: what was finished ahead comes again. @throws when the group has members */
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

/** The topic's policy, or a missing right, does not let records be deleted: nothing that passes by itself. */
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

/** Deletes what a topic's only group has finished. @throws MayNotDeleteError, also with nothing to delete */
export async function deleteCommitted(
  kafka: KafkaClient,
  groupId: string,
  topic: string,
): Promise<void> {
  await withAdmin(kafka, async (admin) => {
    const spans = requireLeaders(await committedSpans(admin, groupId, [topic]));
    const partitions = spans.map(({ partition, from, until, committed = -1 }) => {
      // a committed offset beyond the end is of a former log
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

/** The broker's answers by partition, which kafkajs has in the cause of its error. */
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
