import { Logger } from '@nestjs/common';
import { type TopicPartitionOffset } from 'kafkajs';
import { type Assignment } from './consumer-callbacks.js';
import { type InboundMessage, type InboundRecord, type MessageHandler } from './inbound-message.js';
import { PartitionQueue } from './partition-queue.js';

const MIB = 1024 * 1024;
const LIMITS = { maxUnfinished: 2500, maxUnfinishedBytes: 8 * MIB, maxSpan: 250_000 };

interface OwnedQueue {
  topic: string;
  partition: number;
  queue: PartitionQueue;
  /** The offset last handed out for a commit, and the one Kafka last acknowledged. */
  committing: number | undefined;
  acknowledged: number;
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
  private readonly logger = new Logger('Inbox');
  private readonly owned = new Map<string, OwnedQueue>();

  constructor(
    private readonly handle: MessageHandler,
    private readonly resume: (topic: string, partition: number) => void,
    private readonly setAside: (message: InboundMessage) => Promise<void>,
  ) {}

  /**
   * After a rebalance: what is no longer owned is dropped before anything is committed for it; what is
   * newly owned is held where `mustWait` says so, until {@link release}.
   */
  reassign(assignment: Assignment, mustWait: (topic: string, partition: number) => boolean): void {
    for (const [key, { topic, partition, queue }] of this.owned) {
      if (assignment.get(topic)?.includes(partition)) continue;
      this.owned.delete(key);
      // kafkajs remembers a pause across assignments: it must not greet the partition when it returns.
      this.resume(topic, partition);
      void queue.close(new Error(`${topic}/${partition} went to another process`));
    }
    for (const [topic, partitions] of assignment) {
      for (const partition of partitions) {
        const key = keyOf(topic, partition);
        if (this.owned.has(key)) continue;
        const opened = this.open(topic, partition);
        this.owned.set(key, opened);
        if (mustWait(topic, partition)) opened.queue.hold();
      }
    }
  }

  /**
   * Returns whether the partition must be paused until it is resumed. A fetch that was under way when
   * its partition was lost is ignored: committing for it would skip what the new owner has not done.
   */
  push(from: FetchedFrom, messages: readonly InboundRecord[]): boolean {
    const key = keyOf(from.topic, from.partition);
    let owned = this.owned.get(key);
    const [first] = messages;
    if (owned === undefined || first === undefined) return false;
    if (first.offset < owned.acknowledged) {
      owned = this.startOver(owned, first.offset);
      this.owned.set(key, owned);
    }
    owned.highWatermark = from.highWatermark;
    return owned.queue.push(messages);
  }

  /** Whatever the partition's messages had to wait for has come. */
  release(topic: string, partition: number): void {
    this.owned.get(keyOf(topic, partition))?.queue.release();
  }

  /** Partitions whose messages wait for what they are judged by. */
  get held(): number {
    return [...this.owned.values()].filter(({ queue }) => queue.isHeld).length;
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
      if (offset === undefined || offset === owned.committing) continue;
      owned.committing = offset;
      offsets.push({ topic: owned.topic, partition: owned.partition, offset: String(offset) });
    }
    return offsets;
  }

  /** Says what became of offsets taken: those of a failed commit are taken again. */
  settle(offsets: readonly TopicPartitionOffset[], committed: boolean): void {
    for (const { topic, partition, offset } of offsets) {
      const owned = this.owned.get(keyOf(topic, partition));
      if (owned === undefined) continue;
      if (committed) owned.acknowledged = Number(offset);
      else owned.committing = undefined;
    }
  }

  backlog(): PartitionBacklog[] {
    return [...this.owned.values()].map(({ topic, partition, queue, highWatermark }) => {
      const { position } = queue;
      const lag = position === undefined ? 0 : Math.max(0, highWatermark - position);
      return { topic, partition, messages: queue.size, lag };
    });
  }

  private open(topic: string, partition: number): OwnedQueue {
    const onResume = (): void => {
      this.resume(topic, partition);
    };
    const { setAside } = this;
    const queue = new PartitionQueue(this.handle, { ...LIMITS, onResume, setAside });
    return {
      topic,
      partition,
      queue,
      committing: undefined,
      acknowledged: 0,
      highWatermark: 0,
    };
  }

  /** Redelivery never begins before what was committed: these are other messages under old offsets. */
  private startOver({ topic, partition, queue }: OwnedQueue, offset: number): OwnedQueue {
    this.logger.error({
      msg: 'offsets begin anew: recreated or truncated',
      topic,
      partition,
      offset,
    });
    void queue.close(new Error(`${topic}/${partition} was recreated or truncated`));
    return this.open(topic, partition);
  }
}

function keyOf(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}
