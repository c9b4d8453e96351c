import { Logger } from '@nestjs/common';
import { type Assignment } from './consumer-callbacks.js';
import { type InboundRecord } from './inbound-message.js';
import { openQueue, type QueueSurroundings } from './open-queue.js';
import { type OwnedQueue, type PartitionBacklog } from './owned-queue.js';

interface FetchedFrom {
  topic: string;
  partition: number;
  highWatermark: number;
  /** The offset of the first that was fetched, also of what is no message. */
  first: number;
  /** The offset behind all that was fetched, also of what is no message. */
  end: number;
}

/** The queues of all input partitions this process owns now. Only the inbox touches it. */
export class PartitionQueues {
  private readonly logger = new Logger('Inbox');
  private readonly owned = new Map<string, OwnedQueue>();
  private isHeldBack = false;

  constructor(private readonly surroundings: QueueSurroundings) {}

  /** After a rebalance: what is no longer owned is dropped before anything is committed for it. */
  dropAllBut(assignment: Assignment): void {
    for (const [key, { topic, partition, queue }] of this.owned) {
      if (assignment.get(topic)?.includes(partition)) continue;
      this.owned.delete(key);
      // kafkajs remembers a pause across assignments: it must not greet the partition when it returns.
      this.surroundings.resume(topic, partition);
      void queue.close(new Error(`${topic}/${partition} went to another process`));
      void queue.transactions.close();
    }
  }

  /**
   * After a rebalance: what is newly owned waits until what earlier owners have left of it is known and, where
   * `mustWait` says so, for {@link release}.
   */
  reassign(assignment: Assignment, mustWait: (topic: string, partition: number) => boolean): void {
    this.dropAllBut(assignment);
    for (const [topic, partitions] of assignment) {
      for (const partition of partitions) {
        const kept = this.owned.get(keyOf(topic, partition));
        kept?.log.assignedAgain();
        if (kept !== undefined) continue;
        const opened = this.open(topic, partition);
        opened.queue.hold('recall');
        if (mustWait(topic, partition)) opened.queue.hold('state');
        this.owned.set(keyOf(topic, partition), opened);
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
    if (owned === undefined || owned.skips(from.first)) return false;
    if (first !== undefined && owned.isAnotherTopic(first.offset, from.highWatermark)) {
      owned = this.startOver(owned, first.offset);
      this.owned.set(key, owned);
    }
    owned.fetched(first?.offset, from.highWatermark);
    return owned.queue.push(messages, from.end);
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

  /** Hands nothing over until {@link endRest}; what has been handed over goes on. */
  holdBack(): void {
    this.isHeldBack = true;
    for (const { queue } of this.owned.values()) queue.hold('rest');
  }

  /** Resolves once all that messages have led to so far is committed. */
  async flush(): Promise<void> {
    const all = [...this.owned.values()];
    await Promise.all(all.map(({ queue }) => queue.transactions.flush()));
  }

  async closeTransactions(): Promise<void> {
    const all = [...this.owned.values()];
    await Promise.all(all.map(({ queue }) => queue.transactions.close()));
  }

  /** Why nothing is committed for a while now, in words, by partition. */
  get problem(): string | undefined {
    for (const { topic, partition, queue } of this.owned.values()) {
      const why = queue.transactions.problem;
      if (why !== undefined) return `${topic}/${partition}: ${why}`;
    }
    return undefined;
  }

  endRest(): void {
    this.isHeldBack = false;
    for (const { queue } of this.owned.values()) queue.release('rest');
  }

  /** Topics of which something is paused: no fetch tells where that ends by now. */
  get pausedTopics(): ReadonlySet<string> {
    const paused = [...this.owned.values()].filter(({ queue }) => queue.isFetchPaused);
    return new Set(paused.map(({ topic }) => topic));
  }

  /** The end of a partition as Kafka has it now. */
  noteEnd(topic: string, partition: number, highWatermark: number): void {
    this.owned.get(keyOf(topic, partition))?.noteEnd(highWatermark);
  }

  backlog(): PartitionBacklog[] {
    return [...this.owned.values()].map(({ backlog }) => backlog);
  }

  private open(topic: string, partition: number, isAnotherLog = false): OwnedQueue {
    const opened = openQueue(topic, partition, this.surroundings, isAnotherLog);
    if (this.isHeldBack) opened.queue.hold('rest');
    return opened;
  }

  private startOver({ topic, partition, queue }: OwnedQueue, offset: number): OwnedQueue {
    this.logger.error({
      msg: 'offsets begin anew: recreated or truncated',
      topic,
      partition,
      offset,
    });
    void queue.close(new Error(`${topic}/${partition} was recreated or truncated`));
    void queue.transactions.close();
    return this.open(topic, partition, true);
  }
}

function keyOf(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}
