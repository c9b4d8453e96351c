import { type TopicPartitionOffset } from 'kafkajs';
import { type MessageHandler } from './inbound-message.js';
import { PartitionQueue, type QueuedMessage } from './partition-queue.js';
import { type Assignment } from './supervised-consumer.js';

const WINDOW = 2000;
const PAUSE_AT = 1000;
const RESUME_AT = 200;

interface OwnedQueue {
  topic: string;
  partition: number;
  queue: PartitionQueue;
  committed: number | undefined;
  /** The end of the partition when it was last read. */
  highWatermark: number;
}

export interface PartitionBacklog {
  topic: string;
  partition: number;
  /** Fetched and not yet final. */
  messages: number;
  /** In Kafka and not yet committed, as of the last fetch. */
  lag: number;
}

interface FetchedFrom {
  topic: string;
  partition: number;
  highWatermark: number;
}

/** The queues of all input partitions this process owns now. Only the inbox touches it. */
export class PartitionQueues {
  private readonly owned = new Map<string, OwnedQueue>();

  constructor(
    private readonly handle: MessageHandler,
    private readonly resume: (topic: string, partition: number) => void,
  ) {}

  /** Returns whether the partition must be paused until {@link resume} is called. */
  push(
    { topic, partition, highWatermark }: FetchedFrom,
    messages: readonly QueuedMessage[],
  ): boolean {
    const owned = this.queueOf(topic, partition);
    owned.highWatermark = highWatermark;
    return owned.queue.push(messages);
  }

  /** After a rebalance: what is no longer owned is dropped before anything is committed for it. */
  keepOnly(assignment: Assignment): void {
    for (const [key, { topic, partition, queue }] of this.owned) {
      if (assignment.get(topic)?.includes(partition)) continue;
      this.owned.delete(key);
      // kafkajs remembers a pause across assignments: it must not greet the partition when it returns.
      this.resume(topic, partition);
      void queue.close(new Error(`${topic}/${partition} went to another process`));
    }
  }

  async closeAll(): Promise<void> {
    const reason = new Error('the bridge is stopping');
    await Promise.all([...this.owned.values()].map(({ queue }) => queue.close(reason)));
  }

  /** Offsets that moved since they were last taken. */
  takeCommittable(): TopicPartitionOffset[] {
    const offsets: TopicPartitionOffset[] = [];
    for (const owned of this.owned.values()) {
      const offset = owned.queue.committable();
      if (offset === undefined || offset === owned.committed) continue;
      owned.committed = offset;
      offsets.push({ topic: owned.topic, partition: owned.partition, offset: String(offset) });
    }
    return offsets;
  }

  /** Makes the offsets of a failed commit be taken again. */
  commitFailed(offsets: readonly TopicPartitionOffset[]): void {
    for (const { topic, partition } of offsets) {
      const owned = this.owned.get(keyOf(topic, partition));
      if (owned !== undefined) owned.committed = undefined;
    }
  }

  backlog(): PartitionBacklog[] {
    return [...this.owned.values()].map(({ topic, partition, queue, highWatermark }) => {
      const done = queue.committable();
      const lag = done === undefined ? queue.size : highWatermark - done;
      return { topic, partition, messages: queue.size, lag };
    });
  }

  private queueOf(topic: string, partition: number): OwnedQueue {
    const key = keyOf(topic, partition);
    const existing = this.owned.get(key);
    if (existing !== undefined) return existing;
    const queue = new PartitionQueue(this.handle, {
      window: WINDOW,
      pauseAt: PAUSE_AT,
      resumeAt: RESUME_AT,
      onResume: () => {
        this.resume(topic, partition);
      },
    });
    const owned = { topic, partition, queue, committed: undefined, highWatermark: 0 };
    this.owned.set(key, owned);
    return owned;
  }
}

function keyOf(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}
