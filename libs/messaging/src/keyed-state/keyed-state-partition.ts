import { Logger } from '@nestjs/common';
import { abortable, realDelayMs } from '#libs/clock';
import { backOffMs } from '#libs/delivery';
import { aborted } from '../aborted.js';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import { type SupervisedConsumer } from '../inbox/supervised-consumer.js';
import { type KafkaMessage } from '../kafkajs.js';
import { type OutboundRecord } from '../outbox/outbound-record.js';
import { type KeyedStateOptions } from './keyed-state-options.js';
import { type OwnedState, type StateChange } from './owned-state.js';
import { Restore } from './restore.js';
import { StoredValues } from './stored-values.js';
import { TransactionalWriter } from './transactional-writer.js';

/** A change on its way to Kafka, and the text it is kept as. */
type StateRecord = OutboundRecord & { key: string; value: string | null };

const BACK_OFF = { baseMs: 200, capMs: 5000 };

/**
 * One partition of keyed state, from assignment to revocation. Each round: fence whoever wrote
 * before (a producer with the same transactional id), mark the end of the log, read up to the mark,
 * own. A write whose result is unknown ends the round; the next one reads what became of it.
 */
export class KeyedStatePartition<V> {
  private readonly logger = new Logger('KeyedState');
  private readonly closing = new AbortController();
  private lifecycle: Promise<void> | undefined;
  private restore: Restore | undefined;
  private restored = false;

  constructor(
    private readonly partition: number,
    private readonly options: KeyedStateOptions<V>,
    private readonly consumer: SupervisedConsumer,
  ) {}

  get isRestored(): boolean {
    return this.restored;
  }

  start(): void {
    this.lifecycle = this.live();
  }

  accept(messages: readonly KafkaMessage[]): void {
    // What arrives after the restore is the echo of our own writes.
    if (this.restore?.accept(messages) !== true) {
      this.consumer.member.pause(this.options.name, this.partition);
    }
  }

  async close(): Promise<void> {
    this.closing.abort(new Error(`${this.options.name}/${this.partition} is no longer owned`));
    await this.lifecycle;
  }

  private isClosing(): boolean {
    return this.closing.signal.aborted;
  }

  private async live(): Promise<void> {
    const { name } = this.options;
    let failures = 0;
    while (!this.isClosing()) {
      try {
        await this.round();
        failures = 0;
      } catch (error) {
        if (this.isClosing()) return;
        const { partition } = this;
        const why = describeKafkaFailure(error);
        this.logger.warn({ msg: 'state not available', name, partition, error: why });
        failures += 1;
        await realDelayMs(backOffMs(failures, BACK_OFF), this.closing.signal).catch(
          () => undefined,
        );
      }
    }
  }

  /** Returns when the round is over because a write failed; throws when it could not be set up. */
  private async round(): Promise<void> {
    const { name, transactionalIdPrefix, kafka } = this.options;
    const { partition } = this;
    const transactionalId = `${transactionalIdPrefix}-${name}-${partition}`;
    const { signal } = this.closing;
    const writer = new TransactionalWriter(kafka, transactionalId);
    try {
      // A broker that says nothing would hold up whoever closes the partition.
      await abortable(writer.open(), signal);
      const restore = new Restore(name, partition);
      await abortable(writer.write([restore.mark]), signal);
      this.consumer.member.seek(name, partition, 0);
      // Not before: what is fetched from somewhere in the middle must not be taken for the beginning.
      this.restore = restore;
      this.consumer.member.resume(name, partition);
      const texts = await restore.finished(signal);
      await this.own(new StoredValues(texts, this.options.parse), writer);
    } finally {
      this.restored = false;
      this.restore = undefined;
      await writer.close();
    }
  }

  private async own(state: StoredValues<V>, writer: TransactionalWriter): Promise<void> {
    const { partition } = this;
    const broken = new AbortController();
    const signal = AbortSignal.any([this.closing.signal, broken.signal]);
    const commit = async (
      changes: readonly StateChange<V>[],
      records: readonly OutboundRecord[],
    ): Promise<void> => {
      signal.throwIfAborted();
      let written: readonly StateRecord[];
      try {
        written = changes.map((change) => this.toRecord(change));
        // A broker that falls silent while the partition is lost would keep a write waiting for ever.
        await abortable(writer.write([...written, ...records]), signal);
      } catch (error) {
        broken.abort(error);
        throw error;
      }
      for (const { key, value } of written) state.put(key, value);
    };
    this.restored = true;
    const owned: OwnedState<V> = {
      partition,
      signal,
      lost: this.closing.signal,
      paceMs: this.options.paceMs ?? 0,
      get: (key) => state.get(key),
      keys: () => state.keys(),
      entries: () => state.entries(),
      commit,
    };
    this.options.onOwned(owned);
    await aborted(signal);
  }

  private toRecord([key, value]: StateChange<V>): StateRecord {
    const { name, format } = this.options;
    const json = value === null || format === undefined ? value : format(value);
    const text = json === null ? null : JSON.stringify(json);
    return { topic: name, partition: this.partition, key, value: text, headers: {} };
  }
}
