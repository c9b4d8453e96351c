import { type Kafka } from 'kafkajs';
import { withAdmin } from '../client/with-admin.js';

/** A stretch of one partition's log: offsets from `from` up to, but not with, `until`. */
export interface TopicSpan {
  /** Full name, prefix included. */
  topic: string;
  partition: number;
  from: number;
  until: number;
}

/** The names of all topics there are. */
export function topicNames(kafka: Kafka): Promise<string[]> {
  return withAdmin(kafka, (admin) => admin.listTopics());
}

/**
 * What a topic holds now, a span for each partition: from the oldest record that is left to the end
 * of what is committed. The last offsets may be transaction markers, which are never delivered.
 *
 * @throws when the topic does not exist or Kafka does not answer
 */
export async function topicSpans(kafka: Kafka, topic: string): Promise<TopicSpan[]> {
  const partitions = await withAdmin(kafka, (admin) => admin.fetchTopicOffsets(topic));
  return partitions
    .map(({ partition, low, high }) => ({
      topic,
      partition,
      from: Number(low),
      until: Number(high),
    }))
    .sort((a, b) => a.partition - b.partition);
}
