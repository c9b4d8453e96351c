import { everyRealMs, realNowMs, withDeadline } from '#libs/clock';
import { withoutGroup } from '#libs/kafkajs-patches';
import type { Batch, Consumer, KafkaClient } from '../client/kafka-port.js';

interface Reading {
  topics: readonly string[];
  /** Ends it: well, or with what it rejects with. */
  ending: Completion;
  /** All partitions of the topics are at their beginning: at first, and again when a topic has grown. */
  onAssigned: (consumer: Consumer, assignment: Readonly<Record<string, number[]>>) => void;
  /** A broker has answered, or has no partition to be asked for. */
  onFetch?: (nodeId: number) => void;
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
  consumer.on(CRASH, ({ payload }) => ending.end(payload.error));
  consumer.on(GROUP_JOIN, ({ payload }) => onAssigned(consumer, payload.memberAssignment));
  if (onFetch !== undefined) consumer.on(FETCH, ({ payload }) => onFetch(payload.nodeId));
  const start = async (): Promise<void> => {
    await consumer.connect();
    await consumer.subscribe({ topics: [...topics], fromBeginning: true });
    if (ending.isOver) return;
    const eachBatch = async ({ batch }: { batch: Batch }): Promise<void> =>
      onBatch(consumer, batch);
    await consumer.run({ autoCommit: false, eachBatch });
  };
  const starting = start().catch((error: unknown) => ending.end(error as Error));
  try {
    await ending.reached;
  } finally {
    // A consumer that is disconnected while it joins goes on joining, and is left behind.
    await withDeadline(starting, START_DEADLINE_MS);
    await withDeadline(consumer.disconnect(), DISCONNECT_DEADLINE_MS);
  }
}

/** How something that runs by callbacks comes to its end, once: well, or with an error. */
export class Completion {
  isOver = false;
  private settle: (error: Error | undefined) => void = () => undefined;
  /** Resolves or rejects with the first word of how it ended. */
  readonly reached = new Promise<void>((resolve, reject) => {
    this.settle = (error) => {
      if (error === undefined) resolve();
      else reject(error);
    };
  });

  end(error?: Error): void {
    this.isOver = true;
    this.settle(error);
  }
}

/** Longer than a rebalance takes, in which nothing is fetched. */
const SILENCE_MS = 30_000;
const CHECK_MS = 1000;

/** Notices that a read which is not at its end yet gets nowhere any more. */
export class SilenceWatch {
  private lastSignMs = realNowMs();

  /** @param where is what is read, and how far it has come, in words */
  constructor(private readonly where: () => string) {}

  progressSeen(): void {
    this.lastSignMs = realNowMs();
  }

  /** Calls `onSilence` each second in which there has been no sign for 30 s, until the returned function is called. */
  start(onSilence: (error: Error) => void): () => void {
    this.progressSeen();
    return everyRealMs(CHECK_MS, () => {
      if (realNowMs() - this.lastSignMs < SILENCE_MS) return;
      const since = `${SILENCE_MS / 1000} s`;
      onSilence(new Error(`Kafka says nothing more since ${since}: ${this.where()}`));
    });
  }
}
