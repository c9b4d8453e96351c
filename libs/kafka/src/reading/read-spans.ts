import { randomUUID } from 'node:crypto';
import { withAdmin } from '../client/with-admin.js';
import { withDeadline } from '../deadline.js';
import { type Consumer, type Kafka } from '#libs/kafkajs-patches';
import { type ReadOptions } from './read-options.js';
import { SpanCursor } from './span-cursor.js';
import { SpanReader } from './span-reader.js';
import { type TopicSpan } from './topic-span.js';

const CLEAN_UP_DEADLINE_MS = 3000;

/**
 * Reads spans to their ends, one after the other, committed records alone, and disturbs nobody: the
 * client can only read as a member of a consumer group, so there is one of this read's own, which
 * commits nothing and is deleted afterwards. (Where that is not allowed, Kafka forgets the group by
 * itself.) Memory stays bounded: the next records are fetched when `onRecords` is done with these. Spans
 * of one partition must come in the order of their offsets and not overlap.
 *
 * @throws what onRecords throws, or an Error when Kafka is away or has nothing more to say for 30 s
 */
export async function readSpans(
  kafka: Kafka,
  spans: readonly TopicSpan[],
  options: ReadOptions,
): Promise<void> {
  const cursor = new SpanCursor(spans);
  if (cursor.current === undefined || options.signal.aborted) return;
  const groupId = `${options.groupIdPrefix}-read-${randomUUID()}`;
  const consumer = createConsumer(kafka, groupId);
  try {
    const topics = [...new Set(spans.map(({ topic }) => topic))];
    await new SpanReader(consumer, cursor, options).read(topics);
  } finally {
    await withDeadline(consumer.disconnect(), CLEAN_UP_DEADLINE_MS);
    const deleted = withAdmin(kafka, (admin) => admin.deleteGroups([groupId]));
    await withDeadline(deleted, CLEAN_UP_DEADLINE_MS);
  }
}

function createConsumer(kafka: Kafka, groupId: string): Consumer {
  return kafka.consumer({
    groupId,
    sessionTimeout: 30_000,
    heartbeatInterval: 3000,
    maxWaitTimeInMs: 250,
    allowAutoTopicCreation: false,
    retry: { retries: 5, restartOnFailure: () => Promise.resolve(false) },
  });
}
