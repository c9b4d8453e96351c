import { Logger } from '@nestjs/common';
import type { FetchedEnds, FetchedRecord, PartitionAssignment } from '../client/kafka-port.js';
import { partitionName } from '../reading/stored-record.js';
import {
  AssignedPartition,
  type PartitionBacklog,
  type PartitionContext,
} from './assigned-partition.js';

interface FetchedFrom {
  topic: string;
  partition: number;
  /** The offset of the first fetched record of any kind. */
  first: number;
  /** The offset after the last fetched record of any kind. */
  end: number;
}

/** The input partitions that this process owns. Only the consumer changes them. */
export class AssignedPartitions {
  private readonly logger = new Logger('Consumer');
  private readonly owned = new Map<string, AssignedPartition>();
  /** Messages that Kafka deleted before they were read, by topic, including partitions revoked since. */
  readonly lost = new Map<string, number>();
  private areAllPaused = false;
  private readonly context: PartitionContext;

  constructor(context: Omit<PartitionContext, 'allOvertaken' | 'overtakenFell' | 'lost'>) {
    this.context = {
      ...context,
      allOvertaken: () => this.all.reduce((sum, { progress }) => sum + progress.overtaken, 0),
      overtakenFell: () => this.resumeShort(),
      lost: this.lost,
    };
  }

  /** Drops the partitions that a rebalance has revoked, before anything more is committed for them. */
  revokeAllBut(assignment: PartitionAssignment): void {
    for (const [key, owned] of this.owned) {
      const { topic, partition } = owned;
      if (assignment.get(topic)?.includes(partition)) continue;
      this.owned.delete(key);
      // kafkajs keeps a pause across assignments: the partition must not be paused when it is assigned again.
      this.context.member.resume(topic, partition);
      void owned.closeBuffer(new Error(`${topic}/${partition} went to another process`));
      void owned.transactions.endTransactions();
    }
    this.resumeShort();
  }

  private resumeShort(): void {
    for (const owned of this.owned.values()) owned.resumeIfShort();
  }

  /** Replaces the assignment. A new partition waits for earlier owners' progress and, if `mustWait`, for state. */
  assignPartitions(
    assignment: PartitionAssignment,
    mustWait: (topic: string, partition: number) => boolean,
  ): void {
    this.revokeAllBut(assignment);
    for (const [topic, partitions] of assignment) {
      for (const partition of partitions) {
        const kept = this.owned.get(partitionName(topic, partition));
        kept?.continuity.assignedAgain();
        if (kept !== undefined) continue;
        const opened = this.openPartition(topic, partition);
        opened.pauseHandOver('progress');
        if (mustWait(topic, partition)) opened.pauseHandOver('state');
        this.owned.set(partitionName(topic, partition), opened);
      }
    }
  }

  /** Returns whether to pause. Ignores a fetch of a partition revoked meanwhile: its commit would skip messages. */
  bufferFetched(from: FetchedFrom, messages: readonly FetchedRecord[]): boolean {
    const key = partitionName(from.topic, from.partition);
    let owned = this.owned.get(key);
    const [first] = messages;
    if (owned === undefined || owned.seekSkipped(from.first, first === undefined)) return false;
    if (first !== undefined && owned.continuity.isAnotherLog(first.position)) {
      owned = this.reopenPartition(owned, first.position);
      this.owned.set(key, owned);
    }
    return owned.bufferFetched(messages, from.end);
  }

  stateRestored(topic: string, partition: number): void {
    this.owned.get(partitionName(topic, partition))?.resumeHandOver('state');
  }

  /** Resolves once no earlier owner can write records or offsets of the partition. */
  async untilFenced(topic: string, partition: number): Promise<void> {
    await this.owned.get(partitionName(topic, partition))?.transactions.fenced;
  }

  get waitingPartitions(): number {
    return this.all.filter(({ isWaiting }) => isWaiting).length;
  }

  async closeBuffers(): Promise<void> {
    const reason = new Error('the bridge is stopping');
    await Promise.all(this.all.map((owned) => owned.closeBuffer(reason)));
  }

  pauseAll(): void {
    this.areAllPaused = true;
    for (const owned of this.owned.values()) owned.pauseHandOver('rebalance');
  }

  /** Resolves once all entries so far are committed, except those for a topic that takes no records. */
  async commitPending(): Promise<void> {
    await Promise.all(this.all.map(({ transactions }) => transactions.commitPending()));
  }

  async endTransactions(): Promise<void> {
    await Promise.all(this.all.map(({ transactions }) => transactions.endTransactions()));
  }

  /** Why commits have been failing, with the partition, for `/health/ready`; undefined while they succeed. */
  get commitProblem(): string | undefined {
    for (const { topic, partition, transactions } of this.owned.values()) {
      const why = transactions.commitProblem;
      if (why !== undefined) return `${topic}/${partition}: ${why}`;
    }
    return undefined;
  }

  resumeAll(): void {
    this.areAllPaused = false;
    for (const owned of this.owned.values()) owned.resumeHandOver('rebalance');
  }

  /** Topics with a paused partition, whose high watermark no fetch updates. */
  get pausedTopics(): ReadonlySet<string> {
    const paused = this.all.filter(({ isFetchPaused }) => isFetchPaused);
    return new Set(paused.map(({ topic }) => topic));
  }

  /** @param holdsSession whether no other process can own the partition */
  endsFetched(topic: string, ends: FetchedEnds, holdsSession: boolean): void {
    const owned = this.owned.get(partitionName(topic, ends.partition));
    owned?.ends.endsFetched(ends, owned.progress.fetchedEnd, holdsSession);
  }

  endOffsetRead(topic: string, partition: number, highWatermark: number): void {
    this.owned.get(partitionName(topic, partition))?.ends.endOffsetRead(highWatermark);
  }

  /** Where producers' transactions last longer than brokers allow by default, and the remedy. */
  get hangingTransactions(): string | undefined {
    const places = this.all.flatMap(({ ends }) => ends.hangingTransaction ?? []);
    if (places.length === 0) return undefined;
    return `a producer's transaction does not end at ${places.join(', ')}: end it, or abort it (kafka-transactions.sh)`;
  }

  backlog(): PartitionBacklog[] {
    return this.all.map(({ backlog }) => backlog);
  }

  private get all(): AssignedPartition[] {
    return [...this.owned.values()];
  }

  private openPartition(topic: string, partition: number, isAnotherLog = false): AssignedPartition {
    const opened = new AssignedPartition(topic, partition, this.context, isAnotherLog);
    if (this.areAllPaused) opened.pauseHandOver('rebalance');
    return opened;
  }

  private reopenPartition(owned: AssignedPartition, offset: number): AssignedPartition {
    const { topic, partition } = owned;
    const msg = 'offsets begin anew: recreated or truncated';
    this.logger.error({ msg, topic, partition, offset });
    void owned.closeBuffer(new Error(`${topic}/${partition} was recreated or truncated`));
    void owned.transactions.endTransactions();
    const opened = this.openPartition(topic, partition, true);
    opened.ends.endOffsetRead(owned.ends.highWatermark);
    return opened;
  }
}
