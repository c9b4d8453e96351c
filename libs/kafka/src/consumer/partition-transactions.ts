import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { abortable, afterRealMs, realDelayMs, realNowMs } from '#libs/clock';
import { backOffMs } from '#libs/delivery';
import { type Kafka } from '#libs/kafkajs-patches';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import { FailureRun } from '../client/failure-run.js';
import { assertSendable, compressionOf } from '../producer/record-batches.js';
import { type RecordRefusedError, refusalOf } from '../producer/record-refused.js';
import { TransactionalWriter } from '../producer/transactional-writer.js';
import { writeNote } from './commit-note.js';
import { type CommitPace } from './commit-pace.js';
import { type PartitionProgress, type Place } from './partition-progress.js';
import { type Recalled, type Recalls } from './recalls.js';
import { type TopicHealth } from './topic-health.js';
import { type Entry, isToCompress, topicsOf, WaitingWrites } from './waiting-writes.js';

/** What comes together shares a transaction also where none was committed lately. */
const LINGER_MS = 10;
const BACK_OFF = { baseMs: 100, capMs: 5000 };
/** A topic that takes nothing costs a new beginning each time it is tried. */
const TOPIC_BACK_OFF = { baseMs: 200, capMs: 5000 };
const PERMIT_POLL_MS = 50;
/** How often it is looked whether the partition has come further by what is no message, or was finished before. */
const LOOK_MS = 500;

interface TransactionOptions {
  kafka: Kafka;
  groupId: string;
  recalls: Recalls;
  health: TopicHealth;
  /** Between the beginnings of two transactions of a partition, unless one is full. */
  pace: CommitPace;
  /** Whether no other process can own the partition by now: whoever is fenced must not fence its successor in turn. */
  mayFence: () => boolean;
}

/** Where it is heard what Kafka has of a partition. */
export interface TransactionListener {
  /** Told once what earlier owners have left; undefined where Kafka knows nothing of the partition. */
  recalled: (left: Recalled | undefined) => void;
  committed: (offset: number) => void;
}

/**
 * The transactions of one input partition, from its assignment to its loss: what its messages lead to is written
 * together with how far they are done, all of it or nothing.
 *
 * States: *fencing* (every earlier writer is shut out), *recalling* (reading what the last of them has committed),
 * *running* (gather, commit, and again), *closed*. A commit that fails ends in fencing, with its entries kept: the
 * number of a transaction stands in the metadata of its offset, so what is recalled tells whether it was committed
 * after all. Nothing is looked up in what was written, and no call is made again for it.
 *
 * A crash at any point leaves the last committed transaction: what was in none is done again by the next owner.
 * A topic that takes nothing holds back only what is to be written to it, once a transaction has failed by it.
 */
export class PartitionTransactions {
  private readonly logger = new Logger('Transactions');
  private readonly closing = new AbortController();
  private readonly writerId = randomUUID().slice(0, 8);
  private count = 0;
  private readonly waiting: WaitingWrites;
  private lastMs = -Infinity;
  /** A transaction that may have been committed. */
  private unsure: { id: string; entries: readonly Entry[] } | undefined;
  private isWriting = false;
  private isHurried = false;
  private isRecalled = false;
  private committedTo = -1;
  private wake: () => void = () => undefined;
  private readonly whenIdle: (() => void)[] = [];
  private readonly opening = new FailureRun({ isTriedUntilDone: true });
  private shutOut: () => void = () => undefined;
  /** Resolves once what earlier writers had under way is committed, or aborted for good; or when the partition is lost. */
  readonly fenced = new Promise<void>((resolve) => (this.shutOut = resolve));
  private living: Promise<void> | undefined;

  constructor(
    private readonly topic: string,
    private readonly partition: number,
    private readonly progress: Pick<PartitionProgress, 'after'>,
    private readonly options: TransactionOptions,
    private readonly listener: TransactionListener,
  ) {
    this.waiting = new WaitingWrites(progress);
  }

  start(): void {
    this.living = this.live();
  }

  /** Why nothing can be committed at all for a while now, in words. */
  get problem(): string | undefined {
    return this.opening.problem(realNowMs());
  }

  add(entry: Entry): void {
    if (this.closing.signal.aborted) {
      entry.dropped();
      return;
    }
    const { mayGoSooner } = this.waiting;
    this.waiting.add(entry, realNowMs());
    // what joins others goes with them: to wake up for each of thousands would cost as much as they do
    if (mayGoSooner || this.waiting.isFull) this.wake();
  }

  /** Resolves once all that was added so far is committed, but for what no topic takes. */
  async flush(): Promise<void> {
    if (this.waiting.isEmpty && !this.isWriting && this.unsure === undefined) return;
    this.isHurried = true;
    this.wake();
    await new Promise<void>((resolve) => this.whenIdle.push(resolve));
  }

  /** Lets a commit under way end, for a moment; drops what is in none. */
  async close(): Promise<void> {
    this.closing.abort(new Error(`${this.topic}/${this.partition} is no longer owned`));
    this.options.health.forget(this);
    this.shutOut();
    this.wake();
    for (const entry of this.waiting.clear()) entry.dropped();
    await this.living;
    for (const entry of [...(this.unsure?.entries ?? []), ...this.waiting.clear()]) entry.dropped();
    this.unsure = undefined;
    this.settleIdle();
  }

  private isClosing(): boolean {
    return this.closing.signal.aborted;
  }

  private async live(): Promise<void> {
    while (!this.isClosing()) {
      try {
        await this.round();
      } catch (error) {
        if (!this.isClosing()) await this.backOff(error);
      }
    }
  }

  private async backOff(error: unknown): Promise<void> {
    const { topic, partition } = this;
    const why = describeKafkaFailure(error, { right: 'Write' });
    const attempt = this.opening.failed(realNowMs(), why);
    this.logger.warn({ msg: 'transactions not begun', topic, partition, attempt, error: why });
    await realDelayMs(backOffMs(attempt, BACK_OFF), this.closing.signal).catch(() => undefined);
  }

  /** Returns once the partition is lost, or to begin anew. Throws what has kept it from beginning. */
  private async round(): Promise<void> {
    const { kafka, groupId, recalls, mayFence } = this.options;
    const { topic, partition } = this;
    const { signal } = this.closing;
    while (!mayFence()) await realDelayMs(PERMIT_POLL_MS, signal);
    const writer = new TransactionalWriter(kafka, `${groupId}-${topic}-${partition}`);
    try {
      // A broker that says nothing would hold up whoever closes the partition.
      await abortable(writer.open(), signal);
      await abortable(writer.fence(), signal);
      this.shutOut();
      const left = await abortable(recalls.of(topic, partition), signal);
      this.opening.succeeded();
      this.settleUnsure(left);
      this.committedTo = left?.begin ?? -1;
      if (!this.isRecalled) this.listener.recalled(left);
      this.isRecalled = true;
      let goesOn = true;
      while (goesOn && (await this.due())) goesOn = await this.writeNext(writer);
    } finally {
      await writer.close();
    }
  }

  /** Resolves once a transaction is to begin; false when the partition is lost. */
  private async due(): Promise<boolean> {
    const { signal } = this.closing;
    for (;;) {
      if (signal.aborted) return false;
      const dueMs = this.waiting.dueMs(realNowMs());
      const isDue = dueMs < Infinity && (this.isHurried || this.waiting.isFull);
      const inMs =
        Math.max(dueMs + LINGER_MS, this.lastMs + this.options.pace.intervalMs) - realNowMs();
      if (inMs <= 0 || (isDue && dueMs <= realNowMs())) return true;
      if (dueMs > realNowMs()) this.settleIdle();
      if (dueMs === Infinity && this.hasMoved()) return true;
      await this.sleep(Math.min(inMs, LOOK_MS));
    }
  }

  private async sleep(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = afterRealMs(ms, resolve);
      this.wake = () => {
        cancel();
        resolve();
      };
    });
  }

  /** What was committed is not as far as it could be, though no message waits to be. */
  private hasMoved(): boolean {
    const { offset = -1 } = this.progress.after(new Set(), []) ?? {};
    return offset > Math.max(this.committedTo, 0);
  }

  /** Returns whether to go on; if not, it is to be begun anew. */
  private async writeNext(writer: TransactionalWriter): Promise<boolean> {
    const { entries, place } = this.waiting.take(realNowMs());
    if (entries.length === 0 && !this.hasMoved()) return true;
    this.count += 1;
    const id = `${this.writerId}.${this.count}`;
    this.lastMs = realNowMs();
    this.options.pace.begun(this, this.lastMs);
    this.isWriting = true;
    try {
      await this.write(writer, id, entries, place);
    } catch (error) {
      return this.failed(id, entries, error);
    } finally {
      this.isWriting = false;
    }
    if (place !== undefined) {
      this.committedTo = place.offset;
      this.listener.committed(place.offset);
    }
    this.committed(entries);
    return true;
  }

  private async write(
    writer: TransactionalWriter,
    id: string,
    entries: readonly Entry[],
    place: Place | undefined,
  ): Promise<void> {
    const { topic, partition } = this;
    const { groupId } = this.options;
    const records = entries.flatMap((entry) => entry.records);
    for (const record of records) assertSendable(record);
    const compression = compressionOf(isToCompress(entries));
    const progress = place && {
      groupId,
      offset: {
        ...{ topic, partition, offset: String(place.offset) },
        metadata: writeNote(id, place.items ?? '', place.ahead),
      },
    };
    const written = writer.write(records, { compression, ...(progress && { progress }) });
    await abortable(written, this.closing.signal);
  }

  private committed(entries: readonly Entry[]): void {
    this.waiting.committed(entries);
    this.options.health.written(this, topicsOf(entries));
    for (const entry of entries) this.tell(entry);
    if (this.waiting.isEmpty) this.settleIdle();
  }

  private tell(entry: Entry): void {
    try {
      entry.committed();
    } catch (error) {
      const { topic, partition } = this;
      this.logger.error({ msg: 'a commit was not taken in', topic, partition, err: error });
    }
  }

  private failed(id: string, entries: readonly Entry[], error: unknown): boolean {
    const refusal = refusalOf(error);
    if (refusal !== undefined) {
      this.refused(entries, refusal);
      return true;
    }
    this.unsure = { id, entries };
    if (this.closing.signal.aborted) return false;
    const { topic, partition } = this;
    const topics = topicsOf(entries);
    const suspects = this.options.health.suspects(this, topics);
    const why = describeKafkaFailure(error, { right: 'Write', topics: suspects });
    const attempt = this.options.health.failed(this, topics, suspects, why);
    this.waiting.failed(entries, realNowMs() + backOffMs(attempt, TOPIC_BACK_OFF));
    this.logger.warn({
      msg: 'not committed, will try again',
      ...{ topic, partition, topics: suspects, attempt, error: why },
    });
    return false;
  }

  /** A record is too large, or cannot be encoded: the transaction is aborted, and the one at fault found by halves. */
  private refused(entries: readonly Entry[], refusal: RecordRefusedError): void {
    const [only] = entries;
    if (only === undefined) return;
    if (entries.length > 1) {
      this.waiting.putBack(entries, Math.ceil(entries.length / 2));
      return;
    }
    if (only.makeLeaner(refusal)) {
      this.waiting.putBack([only], 1);
      return;
    }
    // what is written in its place goes before what lies behind it
    const behind = this.waiting.clear();
    only.refused(refusal);
    this.waiting.putBehind(behind);
  }

  private settleUnsure(left: Recalled | undefined): void {
    const { unsure } = this;
    this.unsure = undefined;
    if (unsure === undefined) return;
    if (left?.transaction === unsure.id) {
      this.listener.committed(left.begin);
      this.committed(unsure.entries);
    } else {
      this.waiting.putBack(unsure.entries);
    }
  }

  private settleIdle(): void {
    if (this.unsure !== undefined) return;
    this.isHurried = false;
    for (const resolve of this.whenIdle.splice(0)) resolve();
  }
}
