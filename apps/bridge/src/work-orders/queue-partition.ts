import { type InboundMessage, type OwnedState } from '#libs/messaging';
import { FinishedRecords } from './finished-records.js';
import { type PartitionHolder } from './owned-partitions.js';
import { type Derivation, type PartitionWork, PartitionWriter } from './partition-writer.js';
import { type Entry } from './waiting-entries.js';

/** A compacted topic by which one part of this flow tells another. */
export interface Queue<T extends Entry> {
  /** Its full name. */
  topic: string;
  /** Whether this is one of its records, under a key that no other one has. */
  holds: (entry: T) => boolean;
}

/** One partition of a queue: its records are written to the state, and once they are final, their tombstones with later ones. */
export class QueuePartition<V, T extends Entry> implements PartitionHolder<V> {
  private readonly finished: FinishedRecords;
  private readonly writer: PartitionWriter<V, T>;

  constructor(
    work: PartitionWork<V, T>,
    private readonly queue: Queue<T>,
  ) {
    this.writer = new PartitionWriter({
      ...work,
      derive: (state, entries) => this.withTombstones(state, work.derive(state, entries)),
    });
    this.finished = new FinishedRecords(queue.topic, () => {
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
      if (this.queue.holds(entry)) entry.message.onFinished = this.bury;
    }
    this.writer.take(entries);
  }

  /** One function for all messages. */
  private readonly bury = ({ key }: InboundMessage): void => {
    if (key !== null) this.finished.add(key);
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
