import { type InboundMessage, type OwnedState } from '#libs/messaging';
import { FinishedRecords } from './finished-records.js';
import { type PartitionHolder } from './owned-partitions.js';
import { type Derivation, type PartitionWork, PartitionWriter } from './partition-writer.js';
import { type Entry } from './waiting-entries.js';

/** Compacted topics by which one part of this flow tells another. */
export interface Queues<T extends Entry> {
  topicPrefix: string;
  /** Whether this is one of their records, under a key that no other one has. */
  hold: (entry: T) => boolean;
}

/** One partition of queues: their records are written to the state, and once they are final, their tombstones with later ones. */
export class QueuePartition<V, T extends Entry> implements PartitionHolder<V> {
  private readonly finished: FinishedRecords;
  private readonly writer: PartitionWriter<V, T>;

  constructor(
    work: PartitionWork<V, T>,
    private readonly queues: Queues<T>,
  ) {
    this.writer = new PartitionWriter({
      ...work,
      derive: (state, entries) => this.withTombstones(state, work.derive(state, entries)),
    });
    this.finished = new FinishedRecords(() => {
      this.writer.flush();
    });
  }

  get isIdle(): boolean {
    return this.writer.isIdle;
  }

  own(state: OwnedState<V>): void {
    this.finished.ownedUntil(state.lost);
    this.writer.own(state);
  }

  take(entries: readonly T[]): void {
    for (const entry of entries) {
      if (this.queues.hold(entry)) entry.message.onFinished = this.bury;
    }
    this.writer.take(entries);
  }

  /** Resolves once others may come. */
  room(): Promise<void> {
    return this.writer.room();
  }

  /** Writes also where nothing has come: what is derived from none. */
  flush(): void {
    this.writer.flush();
  }

  /** One function for all messages. */
  private readonly bury = ({ topic, key }: InboundMessage): void => {
    if (key !== null) this.finished.add({ topic: `${this.queues.topicPrefix}${topic}`, key });
  };

  private withTombstones({ partition }: OwnedState<V>, derivation: Derivation<V>): Derivation<V> {
    const tombstones = this.finished.tombstones(partition);
    if (tombstones.length === 0) return derivation;
    return {
      changes: derivation.changes,
      records: [...derivation.records, ...tombstones],
      conclude: () => {
        this.finished.drop(tombstones.length);
        derivation.conclude();
      },
    };
  }
}
