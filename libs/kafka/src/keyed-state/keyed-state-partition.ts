import { abortable, realDelayMs } from '#libs/clock';
import { aborted } from '../aborted.js';
import { partitionCount } from '../client/partition-count.js';
import { type GroupMember } from '../consumer/supervised-consumer.js';
import { type KafkaMessage } from '#libs/kafkajs-patches';
import { topicSpans } from '../reading/topic-span.js';
import { type KeyedStateOptions } from './keyed-state-options.js';
import { type FailedWrite, OwnedWrites } from './owned-writes.js';
import { Repartition } from './repartition.js';
import { Restore } from './restore.js';
import { StateFailures } from './state-failures.js';
import { PackedJson } from './packed-json.js';
import { StoredValues } from './stored-values.js';
import { TransactionalWriter } from './transactional-writer.js';

/**
 * One partition of keyed state, from assignment to revocation. Each round: fence whoever wrote
 * before (a producer with the same transactional id, and those of its inputs' partitions), mark the end of the log, read up to the mark,
 * own. Where keys are shared out by a hash, what belongs to another partition since there are more of them is handed
 * over before, see {@link Repartition}. A write whose result is unknown ends the round; the next one reads what became of it, after a pause that
 * grows while writes go on failing.
 */
export class KeyedStatePartition<V> {
  private readonly closing = new AbortController();
  private lifecycle: Promise<void> | undefined;
  private restore: Restore | undefined;
  private restored = false;
  /** Partitions that keys are shared out over, as far as the present round knows; undefined where they are not. */
  private partitions: number | undefined;
  private fewestPartitions = 0;
  private outgrown = new AbortController();
  private readonly failures: StateFailures;

  constructor(
    private readonly partition: number,
    private readonly options: KeyedStateOptions<V>,
    private readonly member: GroupMember,
    /** Resolves once no earlier owner of the inputs can write here what their messages have led to. */
    private readonly inputsFenced: () => Promise<void> = () => Promise.resolve(),
    private readonly delay: typeof realDelayMs = realDelayMs,
  ) {
    this.failures = new StateFailures(options.name, partition);
  }

  get isRestored(): boolean {
    return this.restored;
  }

  /** Why it can be neither read nor written for a while now, in words. */
  get problem(): string | undefined {
    return this.failures.problem;
  }

  start(): void {
    this.lifecycle = this.live();
  }

  accept(messages: readonly KafkaMessage[]): void {
    // What arrives after the restore is the echo of our own writes.
    if (this.restore?.accept(messages) !== true) {
      this.member.pause(this.options.name, this.partition);
    }
  }

  /** Begins anew where keys are shared out over more partitions than it knows of. */
  grow(partitions: number): void {
    // A round that is about to learn it from another broker may hear of fewer.
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
        (failed) =>
          failed === undefined || this.isClosing() ? 0 : this.failures.notWritten(failed),
        (error: unknown) => (this.isClosing() ? 0 : this.failures.notRestored(error)),
      );
      await this.delay(pauseMs, this.closing.signal).catch(() => undefined);
    }
  }

  /** Returns the write that has failed, or undefined once the partition is lost; throws when it could not be set up. */
  private async round(): Promise<FailedWrite | undefined> {
    const { name, transactionalIdPrefix, kafka } = this.options;
    const { partition } = this;
    const transactionalId = `${transactionalIdPrefix}-${name}-${partition}`;
    const { signal } = this.closing;
    const writer = new TransactionalWriter(kafka, transactionalId);
    try {
      // A broker that says nothing would hold up whoever closes the partition.
      await abortable(writer.open(), signal);
      await abortable(this.inputsFenced(), signal);
      const repartition = await this.repartition(signal);
      const restore = new Restore(name, partition, repartition);
      await abortable(writer.write([restore.mark]), signal);
      this.member.seek(name, partition, 0);
      // Not before: what is fetched from somewhere in the middle must not be taken for the beginning.
      this.restore = restore;
      this.member.resume(name, partition);
      if (repartition !== undefined) await this.handOver(repartition, restore, writer);
      const texts = await restore.finished(signal);
      const { format, parse } = this.options;
      const packed = format === undefined ? new PackedJson() : undefined;
      return await this.own(new StoredValues(texts, parse, packed), writer);
    } finally {
      this.restored = false;
      this.restore = undefined;
      this.partitions = undefined;
      await writer.close();
    }
  }

  private async repartition(signal: AbortSignal): Promise<Repartition | undefined> {
    const { name, placement, kafka } = this.options;
    if (placement === undefined) return undefined;
    this.outgrown = new AbortController();
    const counted = await abortable(partitionCount(kafka, placement.topic), signal);
    const partitions = Math.max(counted, this.fewestPartitions);
    this.partitions = partitions;
    // A topic of state may be wider than the one its keys are shared out over.
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
      await abortable(writer.write(records), signal);
      for (const { key, value } of records) if (value === null) texts.delete(String(key));
    }
    // Of a log without its beginning nobody knows who has handed over: what was there is lost whoever is waited for.
    const isKnownToGrow = partitionsBefore !== undefined && partitionsBefore !== this.partitions;
    if (!isKnownToGrow && (await this.hasLostItsBeginning(signal))) restore.end();
  }

  private async hasLostItsBeginning(signal: AbortSignal): Promise<boolean> {
    const { kafka, name } = this.options;
    const spans = await abortable(topicSpans(kafka, name), signal);
    return spans.some(({ partition, from }) => partition === this.partition && from > 0);
  }

  private async own(
    state: StoredValues<V>,
    writer: TransactionalWriter,
  ): Promise<FailedWrite | undefined> {
    const { partition, partitions, options } = this;
    const lost = this.closing.signal;
    const ending = AbortSignal.any([lost, this.outgrown.signal]);
    const writes = new OwnedWrites(partition, options, state, writer, ending, (topics) => {
      this.failures.written(topics);
    });
    const { signal } = writes;
    this.failures.restored();
    this.restored = true;
    options.onOwned({
      partition,
      signal,
      lost,
      ...(partitions !== undefined && { partitions }),
      get: (key) => state.get(key),
      keys: () => state.keys(),
      entries: () => state.entries(),
      put: (key, value) => writes.put(key, value),
      commit: (changes, records) => writes.commit(changes, records),
    });
    await aborted(signal);
    return writes.failed;
  }
}
