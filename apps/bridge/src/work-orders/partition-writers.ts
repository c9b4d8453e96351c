import { type OwnedState } from '#libs/messaging';
import { type PartitionWork, PartitionWriter } from './partition-writer.js';
import { type Entry } from './waiting-entries.js';

/** A {@link PartitionWriter} for each partition that is, or has been, owned here. */
export class PartitionWriters<V, T extends Entry> {
  private readonly writers = new Map<number, PartitionWriter<V, T>>();

  /** @param work what a partition's writer does; asked for once a partition */
  constructor(private readonly work: () => PartitionWork<V, T>) {}

  /** Takes over a partition that has just been restored. */
  own(state: OwnedState<V>): void {
    this.of(state.partition).own(state);
  }

  /** Takes messages of one partition in the order of their offsets. */
  take(partition: number, entries: readonly T[]): void {
    this.of(partition).take(entries);
  }

  private of(partition: number): PartitionWriter<V, T> {
    let writer = this.writers.get(partition);
    if (writer === undefined) {
      writer = new PartitionWriter(this.work());
      this.writers.set(partition, writer);
    }
    return writer;
  }
}
