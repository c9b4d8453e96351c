import { everyRealMs, realNowMs, withDeadline } from '#libs/clock';
import { withoutGroup } from '#libs/kafkajs-patches';
import type { Batch, Consumer, KafkaClient } from '../client/kafka-port.js';

interface Reading {
  topics: readonly string[];
  /** Ends the read, without an error or with the one it rejects with. */
  ending: Completion;
  /** Called when all partitions are at their beginning: at first, and again when a topic has grown. */
  onAssigned: (consumer: Consumer, assignment: Readonly<Record<string, number[]>>) => void;
  /** Called when a broker has answered, or has no partition to fetch. */
  onFetch?: (nodeId: number) => void;
  /** Receives a fetch of one partition, also one of markers, aborted or compacted records alone. */
  onBatch: (consumer: Consumer, batch: Batch) => Promise<void> | void;
}

const START_DEADLINE_MS = 5000;
const DISCONNECT_DEADLINE_MS = 3000;

/** Reads all partitions of topics, committed records alone, without a consumer group; commits no offsets. */
export async function runReader(kafka: KafkaClient, reading: Reading): Promise<void> {
  const { topics, ending, onAssigned, onFetch, onBatch } = reading;
  const consumer = kafka.consumer({
    // kafkajs requires one.
    groupId: 'none',
    partitionAssigners: [withoutGroup],
    maxWaitTimeInMs: 250,
    // Notices a topic that has grown.
    metadataMaxAge: 60_000,
    allowAutoTopicCreation: false,
    retry: { initialRetryTime: 100, retries: 5, restartOnFailure: () => Promise.resolve(false) },
  });
  const { CRASH, GROUP_JOIN, FETCH } = consumer.events;
  consumer.on(CRASH, ({ payload }) => ending.complete(payload.error));
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
  const starting = start().catch((error: unknown) => ending.complete(error as Error));
  try {
    await ending.reached;
  } finally {
    // A consumer that is disconnected while it joins would go on joining, and leak.
    await withDeadline(starting, START_DEADLINE_MS);
    await withDeadline(consumer.disconnect(), DISCONNECT_DEADLINE_MS);
  }
}

/** The end of work that runs by callbacks: a promise that {@link complete} settles once. */
export class Completion {
  isOver = false;
  private settle: (error: Error | undefined) => void = () => undefined;
  /** Settled by the first call of {@link complete}. */
  readonly reached = new Promise<void>((resolve, reject) => {
    this.settle = (error) => {
      if (error === undefined) resolve();
      else reject(error);
    };
  });

  complete(error?: Error): void {
    this.isOver = true;
    this.settle(error);
  }
}

/** Longer than a rebalance, during which nothing is fetched. */
const SILENCE_MS = 30_000;
const CHECK_MS = 1000;

/** Notices a read that makes no progress. */
export class SilenceWatch {
  private lastSignMs = realNowMs();

  /** @param where describes the read and its position */
  constructor(private readonly where: () => string) {}

  progressSeen(): void {
    this.lastSignMs = realNowMs();
  }

  /** Calls `onSilence` each second without progress for 30 s, until the returned function is called. */
  startWatching(onSilence: (error: Error) => void): () => void {
    this.progressSeen();
    return everyRealMs(CHECK_MS, () => {
      if (realNowMs() - this.lastSignMs < SILENCE_MS) return;
      const since = `${SILENCE_MS / 1000} s`;
      onSilence(new Error(`Kafka says nothing more since ${since}: ${this.where()}`));
    });
  }
}
