import { Logger } from '@nestjs/common';
import { abortable, onAbort, realDelayMs, realNowMs } from '#libs/clock';
import { backOffMs } from '#libs/delivery';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import type { FetchControl, KafkaClient, KafkaMessage } from '../client/kafka-port.js';
import { ConsecutiveFailures } from '../producer/consecutive-failures.js';
import type { OutboundRecord } from '../producer/outbound-record.js';
import { TransactionalWriter } from '../producer/transactional-writer.js';
import { partitionCount, topicSpans } from '../reading/topics.js';
import { type KeyPlacement, Repartition, Restore, TopicGrownError } from './restore.js';
import { StoredValues } from './stored-values.js';

/** `H` holds a partition, see `onOwned`. */
export interface KeyedStateOptions<V, H = void> {
  kafka: KafkaClient;
  /** Full name of a compacted topic of the bridge's own. */
  name: string;
  /** Full names of input topics whose messages wait until the same partition is restored. */
  inputs?: readonly string[];
  /** Set where the hash of a key decides on its partition; else it is kept in the one its input came through. */
  placement?: KeyPlacement;
  /** Two processes never use the same transactional id at the same time for long: the later one fences the earlier. */
  transactionalIdPrefix: string;
  /** What a value is stored and kept as, by default itself: arrays lack the names that are half of an object's text. */
  format?: (value: V) => unknown;
  /** Turns what is stored back into the value, each time it is asked for; undefined for what cannot be read. */
  parse: (json: unknown) => V | undefined;
  /** Called each time a partition is owned and restored; returns what holds it until `state.signal` aborts. */
  onOwned: (state: InputState<V> & TransactedState<V>) => H;
}

/** A change of state: the new value of a key, or null to forget it. */
export type StateChange<V> = readonly [key: string, value: V | null];

/** State of a partition while this process owns it. Only whoever `onOwned` has given it writes, until `signal` aborts. */
interface OwnedState<V> {
  readonly partition: number;
  readonly signal: AbortSignal;
  /** Aborts when the partition is revoked; `signal` alone aborts when it is only restored again. */
  readonly lost: AbortSignal;
  /** The number of partitions that keys are hashed over; absent where keys are not hashed. */
  readonly partitions?: number | undefined;
  get(key: string): V | undefined;
  /** Cheaper than {@link entries}, which reads the values as well. */
  keys(): IterableIterator<string>;
  entries(): IterableIterator<[string, V]>;
}

/** State that follows from messages of {@link KeyedStateOptions.inputs}, and is written with what becomes of them. */
export interface InputState<V> extends OwnedState<V> {
  /**
   * Changes what {@link get} shows at once (null forgets the key), and returns the record of it, for the transaction of
   * the message that led to it. Until that is committed, the message is not done, and the next
   * owner of the partition begins without the change.
   */
  put(key: string, value: V | null): OutboundRecord;
}

/** State that is written in transactions of its own. */
export interface TransactedState<V> extends OwnedState<V> {
  /**
   * Writes changes and their records in one transaction; then they show in {@link get}. @throws when it is not known to
   * be committed: `signal` has aborted then, and the partition is restored again
   */
  commit(changes: readonly StateChange<V>[], records: readonly OutboundRecord[]): Promise<void>;
}

const RESTORE_BACK_OFF = { baseMs: 200, capMs: 5000 };
/** A restore has machines polled that missed their turn, and where writes fail for good, reads all in vain. */
const SLOW_BACK_OFF = { baseMs: 200, capMs: 30_000 };
/** A failed write may have been given up by its caller. */
const WRITES_WORK_AFTER_MS = 120_000;

/**
 * One partition of keyed state, from assignment to revocation.
 *
 * States of a round: *fencing* (earlier writers are shut out: the producer with the same transactional id, and those of
 * its inputs' partitions), *restoring* (write a mark, read the log up to it), *owned*. Where keys are partitioned by
 * hash, keys that belong to a partition added since are handed over before, see {@link Repartition}. A write whose
 * result is unknown ends the round; the next one reads its result, after a pause that grows while writes go on failing.
 */
export class KeyedStatePartition<V> {
  private readonly closing = new AbortController();
  private lifecycle: Promise<void> | undefined;
  private restore: Restore | undefined;
  isRestored = false;
  /** Partitions that keys are hashed over, as the present round knows; undefined where keys are not hashed. */
  private partitions: number | undefined;
  private fewestPartitions = 0;
  private outgrown = new AbortController();
  private readonly logger = new Logger('KeyedState');
  /** Counted apart, because a restored partition may fail with every write. */
  private readonly restoring = new ConsecutiveFailures();
  private readonly writing = new ConsecutiveFailures(WRITES_WORK_AFTER_MS);

  constructor(
    private readonly partition: number,
    private readonly options: KeyedStateOptions<V>,
    private readonly member: FetchControl,
    /** Resolves once no earlier owner of the inputs can write here any more. */
    private readonly inputsFenced: () => Promise<void> = () => Promise.resolve(),
    private readonly delay: typeof realDelayMs = realDelayMs,
  ) {}

  /** Why it can be neither restored nor written for a while now, in words. */
  get problem(): string | undefined {
    const nowMs = realNowMs();
    const why = this.writing.problem(nowMs) ?? this.restoring.problem(nowMs);
    return why && `${this.options.name}, partition ${this.partition}: ${why}`;
  }

  start(): void {
    this.lifecycle = this.live();
  }

  acceptFetched(messages: readonly KafkaMessage[]): void {
    // Records after the restore are those of our own writes.
    if (this.restore?.acceptRecords(messages) !== true) {
      this.member.pause(this.options.name, this.partition);
    }
  }

  /** Begins another round where keys are hashed over more partitions than it knows of. */
  grow(partitions: number): void {
    // Another broker may not know of them when the next round asks it.
    this.fewestPartitions = partitions;
    if (this.partitions === undefined || this.partitions >= partitions) return;
    this.outgrown.abort(
      new Error(`${this.options.name} is shared out over ${partitions} partitions`),
    );
  }

  async close(): Promise<void> {
    this.closing.abort(new Error(`${this.options.name}/${this.partition} is no longer owned`));
    await this.lifecycle;
  }

  private isClosing(): boolean {
    return this.closing.signal.aborted;
  }

  private async live(): Promise<void> {
    while (!this.isClosing()) {
      const pauseMs = await this.round().then(
        (failed) => (failed === undefined || this.isClosing() ? 0 : this.notWritten(failed)),
        (error: unknown) => (this.isClosing() ? 0 : this.notRestored(error)),
      );
      await this.delay(pauseMs, this.closing.signal).catch(() => undefined);
    }
  }

  /** Returns the real milliseconds to wait, as {@link notWritten}. */
  private notRestored(error: unknown): number {
    const why = describeKafkaFailure(error, { right: 'Write', topics: [this.options.name] });
    const failures = this.restoring.failed(realNowMs(), why);
    this.warn('state not available', why, failures);
    return backOffMs(failures, error instanceof TopicGrownError ? SLOW_BACK_OFF : RESTORE_BACK_OFF);
  }

  private notWritten({ error, topics }: FailedWrite): number {
    const why = describeKafkaFailure(error, { right: 'Write', topics });
    const failures = this.writing.failed(realNowMs(), why, topics);
    this.warn('state not written', why, failures);
    return backOffMs(failures, SLOW_BACK_OFF);
  }

  private warn(msg: string, error: string, failures: number): void {
    const { partition, options } = this;
    this.logger.warn({ msg, name: options.name, partition, failures, error });
  }

  /** Returns the failed write, or undefined once the partition is revoked; throws when it cannot be restored. */
  private async round(): Promise<FailedWrite | undefined> {
    const { name, transactionalIdPrefix, kafka } = this.options;
    const { partition } = this;
    const transactionalId = `${transactionalIdPrefix}-${name}-${partition}`;
    const { signal } = this.closing;
    const writer = new TransactionalWriter(kafka, transactionalId);
    try {
      // A broker that does not answer must not hold up the close of the partition.
      await abortable(this.inputsFenced(), signal);
      const repartition = await this.repartition(signal);
      const restore = new Restore(name, partition, repartition);
      await abortable(writer.writeTransaction([restore.mark]), signal);
      this.member.seek(name, partition, 0);
      // Not before the seek: a fetch from the middle must not be taken for the beginning.
      this.restore = restore;
      this.member.resume(name, partition);
      if (repartition !== undefined) await this.handOver(repartition, restore, writer);
      const texts = await restore.finished(signal);
      const { format, parse } = this.options;
      return await this.own(new StoredValues(texts, parse, format === undefined), writer);
    } finally {
      this.isRestored = false;
      this.restore = undefined;
      this.partitions = undefined;
      await writer.closeWriter();
    }
  }

  private async repartition(signal: AbortSignal): Promise<Repartition | undefined> {
    const { name, placement, kafka } = this.options;
    if (placement === undefined) return undefined;
    this.outgrown = new AbortController();
    const counted = await abortable(partitionCount(kafka, placement.topic), signal);
    const partitions = Math.max(counted, this.fewestPartitions);
    this.partitions = partitions;
    // A topic of state may have more partitions than the one that its keys are hashed over.
    if (this.partition >= partitions) return undefined;
    return new Repartition(name, this.partition, partitions, placement);
  }

  private async handOver(
    repartition: Repartition,
    restore: Restore,
    writer: TransactionalWriter,
  ): Promise<void> {
    const { signal } = this.closing;
    const texts = await restore.marked(signal);
    if (repartition.isOver) return;
    const { partitionsBefore } = repartition;
    for (const records of repartition.handOver(texts)) {
      await abortable(writer.writeTransaction(records), signal);
      for (const { key, value } of records) if (value === null) texts.delete(String(key));
    }
    // Without the beginning of the log it is unknown who has handed over: waiting for them would be in vain.
    if (partitionsBefore !== undefined && partitionsBefore !== this.partitions) return;
    const spans = await abortable(topicSpans(this.options.kafka, this.options.name), signal);
    const own = spans.find(({ partition }) => partition === this.partition);
    if (own !== undefined && own.from > 0) restore.endRestore();
  }

  private async own(
    values: StoredValues<V>,
    writer: TransactionalWriter,
  ): Promise<FailedWrite | undefined> {
    const { partition, partitions, options, writing } = this;
    const lost = this.closing.signal;
    const ending = AbortSignal.any([lost, this.outgrown.signal]);
    // A holder would wait for the signal to abort, which it has done already.
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
    );
    const { signal } = owned;
    this.restoring.succeeded();
    this.isRestored = true;
    options.onOwned(owned);
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else onAbort(signal, resolve);
    });
    return owned.failed;
  }
}

/** The record of a change, whose value is the text kept in memory. */
type StateRecord = OutboundRecord & { key: string; value: string | null };

/** A transaction whose result only Kafka knows. */
interface FailedWrite {
  error: unknown;
  topics: readonly string[];
}

/** A partition from the moment it is restored; ends with the first write that fails. */
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
    const topics = new Set(records.map(({ topic }) => topic));
    if (changes.length > 0) topics.add(this.options.name);
    let written: readonly StateRecord[];
    try {
      written = changes.map((change) => this.toRecord(change));
      // A broker that does not answer must not keep a write waiting after the partition is revoked.
      await abortable(this.writer.writeTransaction([...written, ...records]), this.signal);
    } catch (error) {
      this.failed ??= { error, topics: [...topics] };
      this.broken.abort(error);
      throw error;
    }
    for (const { key, value } of written) this.values.put(key, value);
    this.writing.succeeded(topics);
  }

  private toRecord([key, value]: StateChange<V>): StateRecord {
    const { name, format } = this.options;
    const json = value === null || format === undefined ? value : format(value);
    const text = json === null ? null : JSON.stringify(json);
    return { topic: name, partition: this.partition, key, value: text, headers: {}, isState: true };
  }
}
