import { realDelayMs, realNowMs } from '#libs/clock';
import { type OutboundRecord, type OwnedState, refusalOf, type StateChange } from '#libs/messaging';
import { type PartitionHolder } from './owned-partitions.js';
import { type Refusal } from './refusal.js';
import { RefusedEntries } from './refused-entries.js';
import { type Entry, WaitingEntries } from './waiting-entries.js';

/** What follows from some messages: written in one transaction, or not at all. */
export interface Derivation<V> {
  changes: readonly StateChange<V>[];
  records: readonly OutboundRecord[];
  /** Called once Kafka has it. */
  conclude: () => void;
}

export interface PartitionWork<V, T extends Entry> {
  /** The partition has been restored; what was known of it before may have been otherwise. */
  restored: (state: OwnedState<V>) => void;
  /** Pure: entries in the order of their messages, over the state as it is; of none after {@link PartitionWriter.flush}. */
  derive: (state: OwnedState<V>, entries: readonly T[]) => Derivation<V>;
  /** Nothing of this message is written; those behind it go on. Called again if it is handed in again. */
  refuse: (entry: T, refusal: Refusal) => void;
}

/** For what this writes to: as fast as they go, transactions of a dozen partitions hold a few records each. */
export const TRANSACTION_PACE_MS = 200;

/**
 * Brings the messages of one partition into its keyed state, in their order: the first at once, those that come
 * soon after it together. After a transaction that fails, Kafka alone knows what became of it: the
 * messages wait until the partition is restored and are derived anew from that. They are abandoned
 * only when their partition is lost.
 */
export class PartitionWriter<V, T extends Entry> implements PartitionHolder<V> {
  private readonly waiting = new WaitingEntries<T>();
  private state: OwnedState<V> | undefined;
  /** Writes, or waits until it may. */
  private isWriting = false;
  private isCommitting = false;
  private isFlushWanted = false;
  private lastMs = -Infinity;
  private readonly refused: RefusedEntries<T>;

  constructor(private readonly work: PartitionWork<V, T>) {
    this.refused = new RefusedEntries(work.refuse);
  }

  get isIdle(): boolean {
    return this.waiting.isEmpty && !this.isCommitting;
  }

  own(state: OwnedState<V>): void {
    this.work.restored(state);
    this.state = state;
    void this.write();
  }

  take(entries: readonly T[]): void {
    this.waiting.add(entries.filter((entry) => !this.refused.has(entry)));
    void this.write();
  }

  /** Resolves once others may come. */
  room(): Promise<void> {
    return this.waiting.room();
  }

  /** Writes also where no message waits: what is derived from none. */
  flush(): void {
    this.isFlushWanted = true;
    void this.write();
  }

  private async write(): Promise<void> {
    if (this.isWriting) return;
    this.isWriting = true;
    while (this.state !== undefined && (this.isFlushWanted || !this.waiting.isEmpty)) {
      const earlyMs = this.lastMs + (this.state.paceMs ?? 0) - realNowMs();
      if (earlyMs > 0 && !this.waiting.isNextFull) {
        await realDelayMs(earlyMs);
        continue;
      }
      this.isFlushWanted = false;
      await this.writeNext(this.state);
    }
    this.isWriting = false;
  }

  private async writeNext(state: OwnedState<V>): Promise<void> {
    const batch = this.waiting.isEmpty ? [] : this.waiting.next();
    await this.commit(state, batch);
  }

  private async commit(state: OwnedState<V>, batch: readonly T[]): Promise<void> {
    const derivation = this.derive(state, batch);
    if (derivation === undefined) return;
    const { changes, records, conclude } = derivation;
    try {
      if (changes.length + records.length > 0) await this.transact(state, derivation);
    } catch (error) {
      this.failed(state, batch, error);
      return;
    }
    try {
      conclude();
    } catch (error) {
      // A bug of ours: what is written is answered when it is handled anew, and those behind it go on.
      for (const { message } of batch) message.fail(error);
    }
  }

  private async transact(state: OwnedState<V>, { changes, records }: Derivation<V>): Promise<void> {
    this.lastMs = realNowMs();
    this.isCommitting = true;
    try {
      await state.commit(changes, records);
    } finally {
      this.isCommitting = false;
    }
  }

  private derive(state: OwnedState<V>, batch: readonly T[]): Derivation<V> | undefined {
    try {
      return this.work.derive(state, batch);
    } catch (error) {
      // A bug of ours that one of them brings out: the others must not be set aside with it.
      const [only] = batch;
      if (batch.length > 1) this.waiting.putBack(batch, { alone: true });
      else if (only !== undefined) this.refused.add(only, { why: 'defect', error });
      return undefined;
    }
  }

  private failed(state: OwnedState<V>, batch: readonly T[], error: unknown): void {
    // It may have been restored again by now.
    if (this.state === state) this.state = undefined;
    const refusal = refusalOf(error);
    const [only] = batch;
    if (refusal === undefined || only === undefined) this.waiting.putBack(batch, { alone: false });
    else if (batch.length > 1) this.waiting.putBack(batch, { alone: true });
    else
      this.refused.add(only, { why: refusal.code === 'too-large' ? 'too-large' : 'defect', error });
  }
}
