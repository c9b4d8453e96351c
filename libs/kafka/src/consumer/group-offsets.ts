import type { KafkaClient } from '../client/kafka-port.js';
import { allEnded, withAdmin } from '../client/with-admin.js';
import { fetchSpans } from '../reading/topics.js';
import { parseOffsetMetadata } from './offset-metadata.js';

/** A consumer group as its coordinator knows it. */
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

/** What a group has committed of a partition, and what the partition holds. */
export interface GroupOffset {
  /** Full name, prefix included. */
  topic: string;
  partition: number;
  /** Undefined where nothing is committed. */
  committed: number | undefined;
  /** Messages that are finished behind the committed offset, as its metadata says. */
  finishedAhead: number;
  /** Of the oldest record that is left. */
  first: number;
  end: number;
}

/** @throws when a topic does not exist or Kafka does not answer */
export async function groupOffsets(
  kafka: KafkaClient,
  groupId: string,
  topics: readonly string[],
): Promise<GroupOffset[]> {
  const [committed, ...spans] = await withAdmin(kafka, (admin) =>
    allEnded([
      admin.fetchOffsets({ groupId, topics: [...topics] }),
      ...topics.map((topic) => fetchSpans(admin, topic)),
    ]),
  );
  return spans.flat().map(({ topic, partition, from, until }) => {
    const ofTopic = committed.find((each) => each.topic === topic);
    const commit = ofTopic?.partitions.find((each) => each.partition === partition);
    const offset = Number(commit?.offset ?? -1);
    const { finished } = parseOffsetMetadata(offset, commit?.metadata ?? null);
    return {
      topic,
      partition,
      committed: offset < 0 ? undefined : offset,
      finishedAhead: finished === undefined ? 0 : finished.count,
      first: from,
      end: until,
    };
  });
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
  return new Map(found.map(({ partition, offset }) => [partition, Number(offset)]));
}

/**
 * Commits offsets for a group without members, without metadata: what was finished ahead of the former ones is
 * delivered again.
 *
 * @throws when the group has members
 */
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
