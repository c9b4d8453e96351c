import { type KafkaClient } from '../client/kafka-port.js';
import { withAdmin } from '../client/with-admin.js';
import { type ReadOptions, readSpans } from './read-spans.js';
import { type TopicSpan, topicSpans } from './topic-span.js';

/** The latest records of some topics. */
export interface LatestRecords {
  /** Full names, prefix included; one after the other. */
  topics: readonly string[];
  /** Epoch milliseconds; records with an earlier timestamp are left out. */
  sinceMs: number;
  /** The latest so many of each partition, however many there are since. */
  maxPerPartition: number;
}

/**
 * Reads what has been written to topics since then, as {@link readSpans} does.
 *
 * @throws what onRecords throws, or what keeps Kafka from answering
 */
export async function readSince(
  kafka: KafkaClient,
  { topics, ...latest }: LatestRecords,
  options: ReadOptions,
): Promise<void> {
  const spans = await Promise.all(topics.map((topic) => latestSpans(kafka, topic, latest)));
  await readSpans(kafka, spans.flat(), options);
}

/** Of each partition what was written since, at most the latest so many records. */
export async function latestSpans(
  kafka: KafkaClient,
  topic: string,
  { sinceMs, maxPerPartition }: Omit<LatestRecords, 'topics'>,
): Promise<TopicSpan[]> {
  const [starts, spans] = await Promise.all([
    withAdmin(kafka, (admin) => admin.fetchTopicOffsetsByTimestamp(topic, sinceMs)),
    topicSpans(kafka, topic),
  ]);
  return spans.map((span) => {
    const start = starts.find(({ partition }) => partition === span.partition);
    return { ...span, from: Math.max(Number(start?.offset ?? 0), span.until - maxPerPartition) };
  });
}
