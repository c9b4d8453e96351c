import { Logger } from '@nestjs/common';
import { realDelayMs, realNowMs } from '#libs/clock';
import { type Admin } from '#libs/kafkajs-patches';
import { type AboutTopic } from './broker-answer.js';
import { isProtocolError } from './protocol-error.js';

const VISIBLE_DEADLINE_MS = 10_000;
const VISIBLE_POLL_MS = 50;

/** kafkajs does not tell which topic an answer is about. */
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

/** Only topics that no key's hash shares out may grow: the others would change hands. */
export async function widen(admin: Admin, { name, count }: NarrowTopic): Promise<void> {
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

/** Those with fewer partitions than the topics they are to be as wide as. */
export async function narrowTopics(
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

/** Brokers learn of a change one after the other; whoever subscribes before the last has would miss it. */
export async function untilAsWide(admin: Admin, topic: string, count: number): Promise<void> {
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
export async function widthOf(admin: Admin, topics: readonly string[]): Promise<number> {
  const { topics: found } = await admin.fetchTopicMetadata({ topics: [...topics] });
  return Math.max(...found.map((topic) => topic.partitions.length));
}
