import { Logger } from '@nestjs/common';
import { type TopicPartition, type TopicPartitionOffset } from 'kafkajs';
import { type FinishedAhead } from '#libs/delivery';
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
  committing: string | undefined;
  acknowledged: number;
  /** The end of the partition when it was last read. */
  highWatermark: number;
}

export interface PartitionBacklog {
  topic: string;
  partition: number;
  /** Fetched and not yet final. */
  messages: number;
  /** In Kafka and not yet committed. */
  lag: number;
}

/** A partition that is newly owned, whose messages wait. */
export interface FreshPartition extends TopicPartition {
  /**
   * Says what an earlier owner has finished ahead of its commit, for which the messages wait. Of no effect
   * when the partition has been lost meanwhile, also if it has come back: then that is asked for anew.
   */
  recall: (finished: FinishedAhead | undefined) => void;
}

/** A commit; `metadata` tells what has finished beyond the offset. */
export type OffsetCommit = TopicPartitionOffset & { metadata: string };

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
   * newly owned is returned, and held until it is recalled and, where `mustWait` says so, {@link release}.
   */
  reassign(
    assignment: Assignment,
    mustWait: (topic: string, partition: number) => boolean,
  ): FreshPartition[] {
    for (const [key, { topic, partition, queue }] of this.owned) {
      if (assignment.get(topic)?.includes(partition)) continue;
      this.owned.delete(key);
      // kafkajs remembers a pause across assignments: it must not greet the partition when it returns.
      this.resume(topic, partition);
      void queue.close(new Error(`${topic}/${partition} went to another process`));
    }
    const fresh: FreshPartition[] = [];
    for (const [topic, partitions] of assignment) {
      for (const partition of partitions) {
        const key = keyOf(topic, partition);
        if (this.owned.has(key)) continue;
        const opened = this.open(topic, partition);
        const { queue } = opened;
        this.owned.set(key, opened);
        queue.hold('recall');
        if (mustWait(topic, partition)) queue.hold('state');
        const recall = (finished: FinishedAhead | undefined): void => {
          queue.recall(finished);
          queue.release('recall');
        };
        fresh.push({ topic, partition, recall });
      }
    }
    return fresh;
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
    this.owned.get(keyOf(topic, partition))?.queue.release('state');
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
  takeCommittable(): OffsetCommit[] {
    const offsets: OffsetCommit[] = [];
    for (const owned of this.owned.values()) {
      const metadata = owned.queue.finishedAhead;
      // With nothing before it finished, the lowest is committed for what is told beside it.
      const offset =
        owned.queue.committable() ?? (metadata === '' ? undefined : owned.queue.position);
      if (offset === undefined || `${offset} ${metadata}` === owned.committing) continue;
      owned.committing = `${offset} ${metadata}`;
      const { topic, partition } = owned;
      offsets.push({ topic, partition, offset: String(offset), metadata });
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

  /** Topics of which something is paused: no fetch tells where that ends by now. */
  get pausedTopics(): ReadonlySet<string> {
    const paused = [...this.owned.values()].filter(({ queue }) => queue.isFetchPaused);
    return new Set(paused.map(({ topic }) => topic));
  }

  /** The end of a partition as Kafka has it now. */
  noteEnd(topic: string, partition: number, highWatermark: number): void {
    const owned = this.owned.get(keyOf(topic, partition));
    if (owned !== undefined) owned.highWatermark = Math.max(owned.highWatermark, highWatermark);
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
