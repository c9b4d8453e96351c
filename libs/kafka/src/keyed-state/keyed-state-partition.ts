import { Logger } from '@nestjs/common';
import { abortable, onAbort, realDelayMs, realNowMs } from '#libs/clock';
import { backOffMs } from '#libs/delivery';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import type { FetchControl, KafkaClient, KafkaMessage } from '../client/kafka-port.js';
import { CommittedOffsets } from '../producer/committed-offsets.js';
import type { OutboundRecord } from '../producer/outbound-record.js';
import { stateLogsOf } from '../producer/state-logs.js';
import { LONG_TRANSACTION_MS, TransactionalWriter } from '../producer/transactional-writer.js';
import { ConsecutiveFailures } from '../producer/write-failures.js';
import { partitionCount, topicSpans } from '../reading/topics.js';
import { type KeyPlacement, Repartition, Restore, TopicGrownError } from './restore.js';
import { StoredValues } from './stored-values.js';

/** `H` is the type of a partition's holder, see `onOwned`. */
export interface KeyedStateOptions<V, H = void> {
  kafka: KafkaClient;
  /** Full name of a compacted topic of the bridge's own. */
  name: string;
  /** Full names of input topics whose messages wait until the state partition of their number is restored. */
  inputs?: readonly string[];
  /** Set if the hash of a key chooses its partition; otherwise it is that of the input. */
  placement?: KeyPlacement;
  /** Prefix of transactional ids, too; of two processes with the same one, the later fences the earlier. */
  groupId: string;
  /** Converts a value to its stored form, by default itself: arrays save the field names, half of an object's text. */
  format?: (value: V) => unknown;
  /** Converts the stored form back, on each access; undefined for one that cannot be read. */
  parse: (json: unknown) => V | undefined;
  /** Called each time a partition has been restored; returns its holder, which lasts until `state.signal` aborts. */
  onOwned: (state: InputState<V> & TransactedState<V>) => H;
}

/** A change of state: the new value of a key, or null to delete it. */
export type StateChange<V> = readonly [key: string, value: V | null];

/** State of a partition while this process owns it. Only its holder writes, until `signal` aborts. */
interface OwnedState<V> {
  readonly partition: number;
  readonly signal: AbortSignal;
  /** Aborts when the partition is revoked; `signal` also aborts when it is restored again. */
  readonly lost: AbortSignal;
  /** Number of partitions that keys are hashed over; absent if keys are not hashed. */
  readonly partitions?: number | undefined;
  get(key: string): V | undefined;
  /** Cheaper than {@link entries}, which parses the values. */
  keys(): IterableIterator<string>;
  entries(): IterableIterator<[string, V]>;
}

/** State derived from messages of {@link KeyedStateOptions.inputs}, and written in their transactions. */
export interface InputState<V> extends OwnedState<V> {
  /**
   * Changes the result of {@link get} at once (null deletes the key), and returns the record of the change for the
   * transaction of its message. Until that is committed, the message is unfinished, and the next owner of the
   * partition begins without the change.
   */
  put(key: string, value: V | null): OutboundRecord;
}

/** State written in its own transactions. */
export interface TransactedState<V> extends OwnedState<V> {
  /**
   * Writes changes and records in one transaction, then shows the changes in {@link get}. @throws when the
   * transaction is not known to be committed: `signal` has aborted, and the partition is restored again
   */
  commit(changes: readonly StateChange<V>[], records: readonly OutboundRecord[]): Promise<void>;
}

const RESTORE_BACK_OFF = { baseMs: 200, capMs: 5000 };
/** After each restore, machines that missed their turn are polled; while all writes fail, that is in vain. */
const SLOW_BACK_OFF = { baseMs: 200, capMs: 30_000 };
/** The caller may have given up a failed write. */
const WRITES_WORK_AFTER_MS = 120_000;

/**
 * One partition of keyed state, from assignment to revocation.
 *
 * States: *fencing* (earlier writers are shut out: the producer with the same transactional id, and those of the
 * input partitions), *restoring* (write a mark, read the log up to it), *owned*. If keys are partitioned by hash,
 * keys of partitions added since are handed over first, see {@link Repartition}. A write whose result is unknown
 * leads back to *fencing*; the next restore reads its result, after a pause that grows while writes fail.
 */
export class KeyedStatePartition<V> {
  private readonly closing = new AbortController();
  private lifecycle: Promise<void> | undefined;
  private restore: Restore | undefined;
  isRestored = false;
  /** Partitions that keys are hashed over, as read at the latest fencing; undefined if keys are not hashed. */
  private partitions: number | undefined;
  private fewestPartitions = 0;
  private outgrown = new AbortController();
  private readonly logger = new Logger('KeyedState');
  /** Counted separately: a restored partition may fail with every write. */
  private readonly restoring = new ConsecutiveFailures();
  private readonly writing = new ConsecutiveFailures(WRITES_WORK_AFTER_MS);
  /** A long write has failed, for example over a slow line: until the revocation, writes are compressed to a tenth. */
  private isSlow = false;

  constructor(
    private readonly partition: number,
    private readonly options: KeyedStateOptions<V>,
    private readonly member: FetchControl,
    /** Resolves once no earlier owner of the inputs can write here. */
    private readonly inputsFenced: () => Promise<void> = () => Promise.resolve(),
    private readonly committed = new CommittedOffsets(options.kafka, options.groupId),
    private readonly delay: typeof realDelayMs = realDelayMs,
  ) {}

  /** Why the partition cannot be restored or written, for `/health/ready`; undefined while it can. */
  get stateProblem(): string | undefined {
    const nowMs = realNowMs();
    const why = this.writing.lastingProblem(nowMs) ?? this.restoring.lastingProblem(nowMs);
    return why && `${this.options.name}, partition ${this.partition}: ${why}`;
  }

  startRestoring(): void {
    this.lifecycle = this.runUntilRevoked();
  }

  acceptFetched(messages: readonly KafkaMessage[]): void {
    // Records after the restore are our own writes.
    if (this.restore?.acceptRecords(messages) !== true) {
      this.member.pause(this.options.name, this.partition);
    }
  }

  /** Restores again if keys are hashed over more partitions than known. */
  partitionsAdded(partitions: number): void {
    // Another broker may not know the new partitions at the next fencing.
    this.fewestPartitions = partitions;
    if (this.partitions === undefined || this.partitions >= partitions) return;
    this.outgrown.abort(
      new Error(`${this.options.name} is shared out over ${partitions} partitions`),
    );
  }

  async closePartition(): Promise<void> {
    this.closing.abort(new Error(`${this.options.name}/${this.partition} is no longer owned`));
    await this.lifecycle;
  }

  private isClosing(): boolean {
    return this.closing.signal.aborted;
  }

  private async runUntilRevoked(): Promise<void> {
    while (!this.isClosing()) {
      const pauseMs = await this.restoreAndOwn().then(
        (failed) => (failed === undefined || this.isClosing() ? 0 : this.backOffWrite(failed)),
        (error: unknown) => (this.isClosing() ? 0 : this.backOffRestore(error)),
      );
      await this.delay(pauseMs, this.closing.signal).catch(() => undefined);
    }
  }

  /** Returns the real milliseconds to wait, like {@link backOffWrite}. */
  private backOffRestore(error: unknown): number {
    const why = describeKafkaFailure(error, { right: 'Write', topics: [this.options.name] });
    const failures = this.restoring.recordFailure(realNowMs(), why);
    this.warn('state not available', why, failures);
    return backOffMs(failures, error instanceof TopicGrownError ? SLOW_BACK_OFF : RESTORE_BACK_OFF);
  }

  private backOffWrite({ error, topics, lastedMs }: FailedWrite): number {
    this.isSlow ||= lastedMs >= LONG_TRANSACTION_MS;
    const why = describeKafkaFailure(error, { right: 'Write', topics });
    const failures = this.writing.recordFailure(realNowMs(), why, topics);
    this.warn('state not written', why, failures);
    return backOffMs(failures, SLOW_BACK_OFF);
  }

  private warn(msg: string, error: string, failures: number): void {
    const { partition, options } = this;
    this.logger.warn({ msg, name: options.name, partition, failures, error });
  }

  /** Returns the write that failed, or undefined once the partition is revoked; throws when a restore fails. */
  private async restoreAndOwn(): Promise<FailedWrite | undefined> {
    const { name, groupId, kafka } = this.options;
    const { partition } = this;
    const transactionalId = `${groupId}-${name}-${partition}`;
    const { signal } = this.closing;
    const writer = new TransactionalWriter(kafka, transactionalId);
    try {
      // A broker that does not answer must not hold up the revocation.
      await abortable(this.inputsFenced(), signal);
      const repartition = await this.repartition(signal);
      const restore = new Restore(name, partition, repartition);
      const isKnown = stateLogsOf(kafka).isKnown(name, partition);
      await abortable(writer.writeTransaction([restore.mark]), signal);
      this.member.seek(name, partition, 0);
      // After the seek: a fetch from the middle must not be taken for the beginning.
      this.restore = restore;
      this.member.resume(name, partition);
      if (repartition !== undefined) await this.handOver(repartition, restore, writer);
      const texts = await restore.restoredValues(signal);
      if (!isKnown && restore.isFirst && texts.size === 0) {
        // Without the group's offsets, the state is restored all the same.
        await abortable(this.reportIfLost(), signal).catch(() => undefined);
      }
      const { format, parse } = this.options;
      return await this.ownUntilFailure(
        new StoredValues(texts, parse, format === undefined),
        writer,
      );
    } finally {
      this.isRestored = false;
      this.restore = undefined;
      this.partitions = undefined;
      await writer.closeWriter();
    }
  }

  /**
   * Reports a restore of nothing if messages that lead to state were finished: there has been something. A topic that a
   * later version adds beside an input that it already has must not be reported.
   */
  private async reportIfLost(): Promise<void> {
    const { name: topic, kafka, inputs = [] } = this.options;
    const { partition } = this;
    const found = inputs.map((input) => this.committed.fetchProgress(input, partition));
    // An offset that was set by hand names no transaction; one of a former log has no floor.
    const isHandled = (await Promise.all(found)).some(
      (it) => it?.transaction !== undefined && it.floor > 0,
    );
    if (isHandled) stateLogsOf(kafka).logLoss({ topic, partition });
  }

  private async repartition(signal: AbortSignal): Promise<Repartition | undefined> {
    const { name, placement, kafka } = this.options;
    if (placement === undefined) return undefined;
    this.outgrown = new AbortController();
    const counted = await abortable(partitionCount(kafka, placement.topic), signal);
    const partitions = Math.max(counted, this.fewestPartitions);
    this.partitions = partitions;
    // The state's topic may have more partitions than the one that its keys are hashed over.
    if (this.partition >= partitions) return undefined;
    return new Repartition(name, this.partition, partitions, placement);
  }

  private async handOver(
    repartition: Repartition,
    restore: Restore,
    writer: TransactionalWriter,
  ): Promise<void> {
    const { signal } = this.closing;
    const texts = await restore.valuesAtMark(signal);
    if (repartition.isOver) return;
    const { partitionsBefore } = repartition;
    for (const records of repartition.handOver(texts)) {
      await abortable(writer.writeTransaction(records, { isCompressed: true }), signal);
      for (const { key, value } of records) if (value === null) texts.delete(String(key));
    }
    // Without the beginning of the log it is unknown which partitions have handed over: do not wait for them.
    if (partitionsBefore !== undefined && partitionsBefore !== this.partitions) return;
    const spans = await abortable(topicSpans(this.options.kafka, this.options.name), signal);
    const own = spans.find(({ partition }) => partition === this.partition);
    if (own !== undefined && own.from > 0) restore.endRestore();
  }

  private async ownUntilFailure(
    values: StoredValues<V>,
    writer: TransactionalWriter,
  ): Promise<FailedWrite | undefined> {
    const { partition, partitions, options, writing } = this;
    const lost = this.closing.signal;
    const ending = AbortSignal.any([lost, this.outgrown.signal]);
    // A new holder would wait for the abort of a signal that has aborted.
    if (ending.aborted) return undefined;
    const owned = new OwnedPartition(
      partition,
      partitions,
      lost,
      ending,
      options,
      values,
      writer,
      writing,
      this.isSlow,
    );
    const { signal } = owned;
    this.restoring.recordSuccess();
    this.isRestored = true;
    options.onOwned(owned);
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else onAbort(signal, resolve);
    });
    return owned.failed;
  }
}

/** The record of a change; its value is the text kept in memory. */
type StateRecord = OutboundRecord & { key: string; value: string | null };

/** A transaction of which only Kafka knows the result. */
interface FailedWrite {
  error: unknown;
  topics: readonly string[];
  /** Real milliseconds. */
  lastedMs: number;
}

/** A restored partition, until its first failed write or its revocation. */
class OwnedPartition<V> implements InputState<V>, TransactedState<V> {
  readonly signal: AbortSignal;
  failed: FailedWrite | undefined;
  private readonly broken = new AbortController();

  constructor(
    readonly partition: number,
    readonly partitions: number | undefined,
    readonly lost: AbortSignal,
    ending: AbortSignal,
    private readonly options: Pick<KeyedStateOptions<V>, 'name' | 'format'>,
    private readonly values: StoredValues<V>,
    private readonly writer: TransactionalWriter,
    private readonly writing: ConsecutiveFailures,
    private readonly isCompressed: boolean,
  ) {
    this.signal = AbortSignal.any([ending, this.broken.signal]);
  }

  get(key: string): V | undefined {
    return this.values.get(key);
  }

  keys(): IterableIterator<string> {
    return this.values.keys();
  }

  entries(): IterableIterator<[string, V]> {
    return this.values.entries();
  }

  put(key: string, value: V | null): OutboundRecord {
    const record = this.toRecord([key, value]);
    this.values.put(key, record.value);
    return record;
  }

  async commit(
    changes: readonly StateChange<V>[],
    records: readonly OutboundRecord[],
  ): Promise<void> {
    this.signal.throwIfAborted();
    const beganMs = realNowMs();
    const topics = new Set(records.map(({ topic }) => topic));
    if (changes.length > 0) topics.add(this.options.name);
    let written: readonly StateRecord[];
    try {
      written = changes.map((change) => this.toRecord(change));
      // A broker that does not answer must not hold up a write after the revocation.
      const { isCompressed } = this;
      const all = [...written, ...records];
      await abortable(this.writer.writeTransaction(all, { isCompressed }), this.signal);
    } catch (error) {
      this.failed ??= { error, topics: [...topics], lastedMs: realNowMs() - beganMs };
      this.broken.abort(error);
      throw error;
    }
    for (const { key, value } of written) this.values.put(key, value);
    this.writing.recordSuccess(topics);
  }

  private toRecord([key, value]: StateChange<V>): StateRecord {
    const { name, format } = this.options;
    const json = value === null || format === undefined ? value : format(value);
    const text = json === null ? null : JSON.stringify(json);
    return { topic: name, partition: this.partition, key, value: text, headers: {}, isState: true };
  }
}
