import {
  type InboundMessage,
  type OutboundRecord,
  type OwnedState,
  refusalOf,
  type StateChange,
} from '#libs/messaging';

/** What follows from some messages: written in one transaction, or not at all. */
export interface Derivation<V> {
  changes: readonly StateChange<V>[];
  records: readonly OutboundRecord[];
  /** Called once Kafka has it. */
  conclude: () => void;
}

/** A message as it waits to be written. */
export interface Entry {
  readonly message: InboundMessage;
}

export interface PartitionWork<V, T extends Entry> {
  /** The partition has been restored; what was known of it before may have been otherwise. */
  restored: (state: OwnedState<V>) => void;
  /** Pure: entries in the order of their messages, over the state as it is. */
  derive: (state: OwnedState<V>, entries: readonly T[]) => Derivation<V>;
  /** What follows from this message alone is more than Kafka takes. */
  tooLarge: (entry: T) => void;
}

/** A transaction holds what follows from so many messages, or bytes of them, and at least from one. */
const MAX_ENTRIES = 1000;
const MAX_BYTES = 512 * 1024;

/**
 * Brings the messages of one partition into its keyed state, in their order, those that come while a
 * transaction is under way together. After one that fails, Kafka alone knows what became of it: the
 * messages wait until the partition is restored and are derived anew from that. They are abandoned
 * only when their partition is lost.
 */
export class PartitionWriter<V, T extends Entry> {
  private readonly pending: T[] = [];
  private state: OwnedState<V> | undefined;
  private isWriting = false;
  /** So many of those that wait go one by one: together they failed. */
  private alone = 0;

  constructor(private readonly work: PartitionWork<V, T>) {}

  own(state: OwnedState<V>): void {
    this.work.restored(state);
    this.state = state;
    void this.write();
  }

  take(entries: readonly T[]): void {
    for (const { message } of entries) message.ownership.whenLost(this.dropLost);
    this.pending.push(...entries);
    this.dropLost();
    void this.write();
  }

  private async write(): Promise<void> {
    if (this.isWriting) return;
    this.isWriting = true;
    while (this.pending.length > 0 && this.state !== undefined) {
      await this.commit(this.state, this.nextBatch());
    }
    this.isWriting = false;
  }

  private async commit(state: OwnedState<V>, batch: readonly T[]): Promise<void> {
    const derivation = this.derive(state, batch);
    if (derivation === undefined) return;
    const { changes, records, conclude } = derivation;
    try {
      if (changes.length + records.length > 0) await state.commit(changes, records);
    } catch (error) {
      this.failed(state, batch, error);
      return;
    }
    conclude();
  }

  private derive(state: OwnedState<V>, batch: readonly T[]): Derivation<V> | undefined {
    try {
      return this.work.derive(state, batch);
    } catch (error) {
      // A bug of ours that one of them brings out: the others must not be set aside with it.
      if (batch.length > 1) this.putBackAlone(batch);
      else for (const { message } of batch) message.fail(error);
      return undefined;
    }
  }

  private failed(state: OwnedState<V>, batch: readonly T[], error: unknown): void {
    // It may have been restored again by now.
    if (this.state === state) this.state = undefined;
    const isTooLarge = refusalOf(error) !== undefined;
    const [only] = batch;
    if (isTooLarge && batch.length === 1 && only !== undefined) this.work.tooLarge(only);
    else if (isTooLarge) this.putBackAlone(batch);
    else this.pending.unshift(...batch);
    this.dropLost();
  }

  private putBackAlone(batch: readonly T[]): void {
    this.pending.unshift(...batch);
    this.alone = batch.length;
  }

  private nextBatch(): T[] {
    if (this.alone > 0) {
      this.alone -= 1;
      return this.pending.splice(0, 1);
    }
    let count = 0;
    let bytes = 0;
    for (const { message } of this.pending) {
      bytes += message.bytes;
      if (count === MAX_ENTRIES || (count > 0 && bytes > MAX_BYTES)) break;
      count += 1;
    }
    return this.pending.splice(0, count);
  }

  /** One function for all messages: their partition knows its listeners by identity. */
  private readonly dropLost = (): void => {
    for (const entry of this.pending.splice(0)) {
      if (entry.message.ownership.isLost) entry.message.abandon();
      else this.pending.push(entry);
    }
  };
}
