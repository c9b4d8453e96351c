import { withAdmin } from '../client/with-admin.js';
import { type Kafka } from '../kafkajs.js';
import { type ReadOptions } from './read-options.js';
import { readSpans } from './read-spans.js';
import { topicSpans } from './topic-span.js';

/** The latest records of a topic. */
export interface LatestRecords {
  /** Full name, prefix included. */
  topic: string;
  /** Epoch milliseconds; records with an earlier timestamp are left out. */
  sinceMs: number;
  /** The latest so many of each partition, however many there are since. */
  maxPerPartition: number;
}

/**
 * Reads what has been written to a topic since then, as {@link readSpans} does.
 *
 * @throws what onRecords throws, or what keeps Kafka from answering
 */
export async function readSince(
  kafka: Kafka,
  { topic, sinceMs, maxPerPartition }: LatestRecords,
  options: ReadOptions,
): Promise<void> {
  const [starts, spans] = await Promise.all([
    withAdmin(kafka, (admin) => admin.fetchTopicOffsetsByTimestamp(topic, sinceMs)),
    topicSpans(kafka, topic),
  ]);
  const since = spans.map((span) => {
    const start = starts.find(({ partition }) => partition === span.partition);
    return { ...span, from: Math.max(Number(start?.offset ?? 0), span.until - maxPerPartition) };
  });
  await readSpans(kafka, since, options);
}
