import { withDeadline } from '../deadline.js';
import { type Kafka } from '../kafkajs.js';
import { topicSpans } from '../reading/topic-span.js';
import { type PartitionQueues } from './partition-queues.js';

/** Whoever scrapes metrics waits no longer for Kafka. */
const DEADLINE_MS = 2000;

/** Asks Kafka where the partitions end of which nothing is fetched for now. Never rejects. */
export async function readPausedEnds(kafka: Kafka, queues: PartitionQueues): Promise<void> {
  await withDeadline(read(kafka, queues), DEADLINE_MS);
}

async function read(kafka: Kafka, queues: PartitionQueues): Promise<void> {
  for (const topic of queues.pausedTopics) {
    for (const { partition, until } of await topicSpans(kafka, topic)) {
      queues.noteEnd(topic, partition, until);
    }
  }
}
