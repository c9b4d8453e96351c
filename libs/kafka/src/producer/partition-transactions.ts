import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { abortable, afterRealMs, realDelayMs, realNowMs } from '#libs/clock';
import { backOffMs } from '#libs/delivery';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import type { KafkaClient } from '../client/kafka-port.js';
import type { CommittedOffsets, CommittedProgress } from './committed-offsets.js';
import { formatOffsetMetadata } from './offset-metadata.js';
import {
  byteLength,
  MAX_BATCH_BYTES,
  type OutboundRecord,
  type RecordRefusedError,
  refusalOf,
  refusalsByTopic,
} from './outbound-record.js';
import {
  type CommittableProgress,
  PendingEntries,
  topicsOf,
  type TransactionEntry,
} from './pending-entries.js';
import { LONG_TRANSACTION_MS, TransactionalWriter } from './transactional-writer.js';
import { ConsecutiveFailures, type TopicHealth } from './write-failures.js';

/** Least wait after the first entry, so that entries that arrive together share a transaction. */
const LINGER_MS = 10;
const BACK_OFF = { baseMs: 100, capMs: 5000 };
/** Each retry of a topic that takes no records costs a new fencing. */
const TOPIC_BACK_OFF = { baseMs: 200, capMs: 5000 };
const PERMIT_POLL_MS = 50;
/** A topic that refuses smaller records takes none: the leanest outcomes and dead letters are below this size. */
const SMALL_BYTES = 16 * 1024;
/** Divides the bytes sent together each time a topic refuses them, until each record is sent alone. */
const SPLIT_FACTOR = 8;
/** Interval of checks for progress without an entry: transaction markers, or messages finished by earlier owners. */
const OFFSET_CHECK_MS = 500;

interface TransactionOptions {
  kafka: KafkaClient;
  groupId: string;
  committedOffsets: CommittedOffsets;
  health: TopicHealth;
  /** Time between the begins of two transactions of a partition, unless one is full. */
  interval: CommitInterval;
  /** Whether no other process can own the partition: a fenced process must not fence its successor. */
  mayFence: () => boolean;
}

/** Receives the commits of a partition, and the end of each entry. */
export interface TransactionListener {
  /** Called once with the progress of earlier owners; undefined if the partition no longer exists. */
  progressRead(earlierProgress: CommittedProgress | undefined): void;
  offsetCommitted(offset: number): void;
  entryCommitted(entry: TransactionEntry): void;
  /** The partition is revoked before the entry is known to be committed: the next owner repeats its messages. */
  entryDropped(entry: TransactionEntry): void;
  /** Kafka refuses the entry in every form, and will go on doing so. */
  entryRefused(entry: TransactionEntry, error: RecordRefusedError): void;
}

/**
 * The transactions of one input partition, from its assignment to its revocation: the records of its messages are
 * committed together with their offsets, or not at all.
 *
 * States: *fencing* (earlier writers are shut out), *reading progress* (offset and metadata of the latest commit),
 * *running* (wait for entries, commit, repeat), *closed*. A failed commit leads back to fencing, with its entries
 * kept: the offset's metadata names its transaction, so the progress read next shows whether it was committed. No
 * output topic is read, and no call is repeated.
 *
 * A crash at any point leaves the last committed transaction; the next owner repeats the rest. A topic that takes no
 * records holds back only entries for it, once a transaction has failed.
 */
export class PartitionTransactions {
  private readonly logger = new Logger('Transactions');
  private readonly closing = new AbortController();
  private readonly writerId = randomUUID().slice(0, 8);
  private transactionCount = 0;
  private readonly pending: PendingEntries;
  private lastBeginMs = -Infinity;
  /** The transaction that is being written, or may have been committed. */
  private uncertain: { id: string; entries: readonly TransactionEntry[] } | undefined;
  /** Limits the records sent together: lower while a topic with a lower limit has refused them. */
  private maxBatchBytes = MAX_BATCH_BYTES;
  private isProgressRead = false;
  private committedTo = -1;
  private wake: () => void = () => undefined;
  /** Callers of {@link commitPending}: while there are any, no transaction lingers. */
  private readonly whenIdle: (() => void)[] = [];
  private readonly beginFailures = new ConsecutiveFailures();
  /** Failed commits of an offset alone, for which no topic is at fault. */
  private readonly offsetFailures = new ConsecutiveFailures();
  private offsetNotBeforeMs = -Infinity;
  private resolveFenced: () => void = () => undefined;
  /** Resolves once the transactions of earlier writers are committed or aborted, or when the partition is revoked. */
  readonly fenced = new Promise<void>((resolve) => (this.resolveFenced = resolve));
  private readonly running: Promise<void>;

  constructor(
    private readonly topic: string,
    private readonly partition: number,
    private readonly progress: CommittableProgress,
    private readonly options: TransactionOptions,
    private readonly listener: TransactionListener,
  ) {
    this.pending = new PendingEntries(progress);
    this.running = this.runUntilRevoked();
  }

  /** Why commits have been failing, for `/health/ready`; undefined while they succeed. */
  get commitProblem(): string | undefined {
    const nowMs = realNowMs();
    return this.beginFailures.lastingProblem(nowMs) ?? this.offsetFailures.lastingProblem(nowMs);
  }

  addToTransaction(entry: TransactionEntry): void {
    if (this.closing.signal.aborted) {
      this.listener.entryDropped(entry);
      return;
    }
    const { mayGoSooner } = this.pending;
    this.pending.addEntry(entry, realNowMs());
    // An entry that joins others is committed with them: waking for each of thousands would cost as much as they do.
    if (mayGoSooner || this.pending.isFull) this.wake();
  }

  /** Resolves once all entries so far are committed, except those whose topic takes no records. */
  async commitPending(): Promise<void> {
    if (this.pending.isEmpty && this.uncertain === undefined) return;
    const idle = new Promise<void>((resolve) => this.whenIdle.push(resolve));
    this.wake();
    await idle;
  }

  /** Lets a commit in flight end, for a moment; drops all other entries. */
  async endTransactions(): Promise<void> {
    this.closing.abort(new Error(`${this.topic}/${this.partition} is no longer owned`));
    this.options.health.forgetWriter(this);
    this.resolveFenced();
    this.wake();
    for (const entry of this.pending.removeAll()) this.listener.entryDropped(entry);
    await this.running;
    for (const entry of [...(this.uncertain?.entries ?? []), ...this.pending.removeAll()])
      this.listener.entryDropped(entry);
    this.uncertain = undefined;
    this.resolveIdle();
  }

  private isClosing(): boolean {
    return this.closing.signal.aborted;
  }

  private async runUntilRevoked(): Promise<void> {
    while (!this.isClosing()) {
      try {
        await this.fenceAndCommit();
      } catch (error) {
        if (!this.isClosing()) await this.backOff(error);
      }
    }
  }

  private async backOff(error: unknown): Promise<void> {
    const { topic, partition } = this;
    const why = describeKafkaFailure(error, { right: 'Write' });
    const attempt = this.beginFailures.recordFailure(realNowMs(), why);
    this.logger.warn({ msg: 'transactions not begun', topic, partition, attempt, error: why });
    await realDelayMs(backOffMs(attempt, BACK_OFF), this.closing.signal).catch(() => undefined);
  }

  /** Fences, reads the progress, and runs transactions until the partition is revoked or must be fenced again. */
  private async fenceAndCommit(): Promise<void> {
    const { kafka, groupId, committedOffsets, mayFence } = this.options;
    const { topic, partition } = this;
    const { signal } = this.closing;
    while (!mayFence()) await realDelayMs(PERMIT_POLL_MS, signal);
    const writer = new TransactionalWriter(kafka, `${groupId}-${topic}-${partition}`);
    try {
      // A broker that does not answer must not hold up the revocation.
      await abortable(writer.fenceEarlierWriters(), signal);
      // If the session has ended meanwhile, this may have fenced a later owner, whose results must stand.
      if (!mayFence()) return;
      this.resolveFenced();
      const progress = await abortable(committedOffsets.fetchProgress(topic, partition), signal);
      this.beginFailures.recordSuccess();
      this.resolveUncertain(progress);
      this.committedTo = progress?.begin ?? -1;
      if (!this.isProgressRead) this.listener.progressRead(progress);
      this.isProgressRead = true;
      // Also when it was committed although the answer was lost.
      if (!this.canMoveOffset()) this.offsetFailures.recordSuccess();
      let goesOn = true;
      while (goesOn && (await this.untilDue())) goesOn = await this.commitNext(writer);
    } finally {
      await writer.closeWriter();
    }
  }

  /** Resolves once a transaction is due; false when the partition is revoked. */
  private async untilDue(): Promise<boolean> {
    while (!this.isClosing()) {
      const nowMs = realNowMs();
      const firstMs = this.pending.dueMs(nowMs);
      const lingers = this.whenIdle.length === 0 && !this.pending.isFull;
      const intervalEndMs = this.lastBeginMs + this.options.interval.intervalMs;
      const dueMs = lingers ? Math.max(firstMs + LINGER_MS, intervalEndMs) : firstMs;
      if (dueMs <= nowMs) return true;
      if (firstMs > nowMs) this.resolveIdle();
      if (firstMs === Infinity && this.mayMoveOffset()) return true;
      await this.sleepUntilWoken(Math.min(dueMs - nowMs, OFFSET_CHECK_MS));
    }
    return false;
  }

  private async sleepUntilWoken(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = afterRealMs(ms, resolve);
      this.wake = () => {
        cancel();
        resolve();
      };
    });
  }

  /** Whether the committed offset can advance without an entry. */
  private canMoveOffset(): boolean {
    const { offset = -1 } = this.progress.positionAfter() ?? {};
    return offset > Math.max(this.committedTo, 0);
  }

  private mayMoveOffset(): boolean {
    return this.offsetNotBeforeMs <= realNowMs() && this.canMoveOffset();
  }

  /** Returns whether to continue; otherwise the partition is fenced again. */
  private async commitNext(writer: TransactionalWriter): Promise<boolean> {
    const { entries, place } = this.pending.takeForTransaction(realNowMs());
    if (entries.length === 0 && !this.mayMoveOffset()) return true;
    this.transactionCount += 1;
    const id = `${this.writerId}.${this.transactionCount}`;
    this.lastBeginMs = realNowMs();
    this.options.interval.transactionBegins(this, this.lastBeginMs);
    this.uncertain = { id, entries };
    try {
      const { topic, partition, maxBatchBytes } = this;
      const records = entries.flatMap((entry) => entry.records);
      const isCompressed = this.pending.isSlow || entries.some((entry) => entry.isCompressed);
      const offset = place && {
        ...{ partition, offset: String(place.offset) },
        metadata: formatOffsetMetadata(id, place),
      };
      const commit = offset && {
        consumerGroupId: this.options.groupId,
        topics: [{ topic, partitions: [offset] }],
      };
      const written = writer.writeTransaction(records, { isCompressed, commit, maxBatchBytes });
      await abortable(written, this.closing.signal);
    } catch (error) {
      return this.onFailure(entries, error);
    }
    this.uncertain = undefined;
    if (place !== undefined) {
      this.offsetFailures.recordSuccess();
      this.committedTo = place.offset;
      this.listener.offsetCommitted(place.offset);
    }
    // Only now may the next transaction be larger.
    this.entriesCommitted(entries, realNowMs() - this.lastBeginMs < LONG_TRANSACTION_MS / 4);
    return true;
  }

  private entriesCommitted(entries: readonly TransactionEntry[], isFast = false): void {
    this.pending.transactionCommitted(entries, isFast);
    this.maxBatchBytes = MAX_BATCH_BYTES;
    this.options.health.writeSucceeded(this, topicsOf(entries));
    for (const entry of entries) {
      try {
        this.listener.entryCommitted(entry);
      } catch (error) {
        const { topic, partition } = this;
        this.logger.error({ msg: 'a commit was not taken in', topic, partition, err: error });
      }
    }
  }

  /** Returns whether to continue: the entries wait again. Otherwise the transaction may have been committed. */
  private onFailure(entries: readonly TransactionEntry[], error: unknown): boolean {
    const refusal = refusalOf(error);
    if (refusal !== undefined && this.onRefusal(entries, refusal)) {
      this.uncertain = undefined;
      return true;
    }
    if (this.closing.signal.aborted) return false;
    const { topic, partition } = this;
    const topics = topicsOf(entries);
    const refusals = refusalsByTopic(error);
    const suspects =
      refusals.size === 0 ? this.options.health.suspects(this, topics) : [...refusals.keys()];
    const whyOf = (suspect = ''): string =>
      describeKafkaFailure(refusals.get(suspect) ?? error, { right: 'Write', topics: suspects });
    const why = whyOf(suspects[0]);
    const nowMs = realNowMs();
    const isOffsetAlone = entries.length === 0;
    const attempt = isOffsetAlone
      ? this.offsetFailures.recordFailure(nowMs, why)
      : this.options.health.writeFailed(this, topics, suspects, whyOf);
    const untilMs = nowMs + backOffMs(attempt, TOPIC_BACK_OFF);
    if (isOffsetAlone) this.offsetNotBeforeMs = untilMs;
    else {
      this.pending.transactionFailed(entries, untilMs);
      const isLong = nowMs - this.lastBeginMs >= LONG_TRANSACTION_MS;
      if (isLong) this.pending.transactionLastedLong(entries);
    }
    this.logger.warn({
      msg: 'not committed, will try again',
      ...{ topic, partition, topics: suspects, attempt, error: why },
    });
    return false;
  }

  /**
   * Handles a refusal (a record is too large, or cannot be encoded) by aborting the transaction and bisecting its
   * entries. If entries cannot be separated, first fewer records are sent together; then the largest entry is at
   * fault, or the next once that has a leaner form. Returns false if the topic is at fault.
   */
  private onRefusal(entries: readonly TransactionEntry[], refusal: RecordRefusedError): boolean {
    if (this.pending.canPart(entries)) {
      this.pending.returnToFront(entries, Math.ceil(entries.length / 2));
      return true;
    }
    const isOfTopic = ({ topic }: OutboundRecord): boolean => topic === refusal.topic;
    const refused = entries.flatMap(({ records }) => records.filter(isOfTopic));
    const sizes = refused.map(byteLength);
    if (sizes.length > 1 && sizes.some((bytes) => 2 * bytes <= this.maxBatchBytes)) {
      this.maxBatchBytes /= SPLIT_FACTOR;
      this.pending.returnToFront(entries, 1);
      return true;
    }
    const suspects =
      refused.length === 0 ? entries : entries.filter(({ records }) => records.some(isOfTopic));
    const [largest] = suspects.toSorted((one, other) => other.bytes - one.bytes);
    if (largest === undefined) return true;
    if (largest.makeLeaner(refusal)) {
      this.pending.returnToFront(entries, 1);
      return true;
    }
    if (sizes.length > 0 && sizes.every((bytes) => bytes <= SMALL_BYTES)) return false;
    // The replacement is committed before the entries behind it.
    const behind = this.pending.removeAll();
    this.pending.returnToEnd(entries.filter((entry) => entry !== largest));
    this.listener.entryRefused(largest, refusal);
    this.pending.returnToEnd(behind);
    return true;
  }

  private resolveUncertain(earlierProgress: CommittedProgress | undefined): void {
    const { uncertain } = this;
    this.uncertain = undefined;
    if (uncertain === undefined) return;
    if (earlierProgress?.transaction === uncertain.id) {
      this.listener.offsetCommitted(earlierProgress.begin);
      this.entriesCommitted(uncertain.entries);
    } else {
      this.pending.returnToFront(uncertain.entries);
    }
  }

  private resolveIdle(): void {
    for (const resolve of this.whenIdle.splice(0)) resolve();
  }
}

const BUSY_MS = 1000;
/** As many busy partitions commit at the configured interval: each commit costs about a millisecond of CPU. */
const FEW_PARTITIONS = 12;
const MOST_STRETCHED = 2.5;

/** Interval between the transactions of a partition: longer while many partitions are busy. */
export class CommitInterval {
  private readonly beganMs = new Map<object, number>();

  /** @param baseMs real milliseconds with few busy partitions */
  constructor(private readonly baseMs: number) {}

  transactionBegins(partition: object, nowMs: number): void {
    this.beganMs.delete(partition);
    this.beganMs.set(partition, nowMs);
    for (const [other, atMs] of this.beganMs) {
      if (atMs > nowMs - BUSY_MS) break;
      this.beganMs.delete(other);
    }
  }

  get intervalMs(): number {
    const stretch = this.beganMs.size / FEW_PARTITIONS;
    return this.baseMs * Math.min(MOST_STRETCHED, Math.max(1, stretch));
  }
}
