import { withDeadline } from '#libs/clock';
import { withoutGroup } from '#libs/kafkajs-patches';
import type { Batch, Consumer, KafkaClient } from '../client/kafka-port.js';
import type { Completion } from './completion.js';

interface Reading {
  topics: readonly string[];
  /** Ends it: well, or with what it rejects with. */
  ending: Completion;
  /** All partitions of the topics are at their beginning: at first, and again when a topic has grown. */
  onAssigned: (consumer: Consumer, assignment: Readonly<Record<string, number[]>>) => void;
  onFetch?: () => void;
  /** Takes a fetch of one partition, also one without a record: of markers, aborted or compacted ones alone. */
  onBatch: (consumer: Consumer, batch: Batch) => Promise<void> | void;
}

const START_DEADLINE_MS = 5000;
const DISCONNECT_DEADLINE_MS = 3000;

/** Reads all partitions of topics, committed records alone, in no consumer group; commits nothing. */
export async function runReader(kafka: KafkaClient, reading: Reading): Promise<void> {
  const { topics, ending, onAssigned, onFetch, onBatch } = reading;
  const consumer = kafka.consumer({
    // kafkajs insists on one
    groupId: 'none',
    partitionAssigners: [withoutGroup],
    maxWaitTimeInMs: 250,
    // A topic that has grown is noticed by it.
    metadataMaxAge: 60_000,
    allowAutoTopicCreation: false,
    retry: { initialRetryTime: 100, retries: 5, restartOnFailure: () => Promise.resolve(false) },
  });
  const { CRASH, GROUP_JOIN, FETCH } = consumer.events;
  consumer.on(CRASH, ({ payload }) => {
    ending.end(payload.error);
  });
  consumer.on(GROUP_JOIN, ({ payload }) => {
    onAssigned(consumer, payload.memberAssignment);
  });
  if (onFetch !== undefined) consumer.on(FETCH, onFetch);
  const start = async (): Promise<void> => {
    await consumer.connect();
    await consumer.subscribe({ topics: [...topics], fromBeginning: true });
    if (ending.isOver) return;
    const eachBatch = async ({ batch }: { batch: Batch }): Promise<void> =>
      onBatch(consumer, batch);
    await consumer.run({ autoCommit: false, eachBatch });
  };
  const starting = start().catch((error: unknown) => {
    ending.end(error as Error);
  });
  try {
    await ending.reached;
  } finally {
    // A consumer that is disconnected while it joins goes on joining, and is left behind.
    await withDeadline(starting, START_DEADLINE_MS);
    await withDeadline(consumer.disconnect(), DISCONNECT_DEADLINE_MS);
  }
}
