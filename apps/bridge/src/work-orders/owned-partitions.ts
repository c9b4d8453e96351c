import { type OwnedState } from '#libs/messaging';

/** Whoever keeps something of one partition. */
export interface PartitionHolder<V> {
  /** The partition has been restored, for the first time or anew. */
  own(state: OwnedState<V>): void;
  /** Nothing waits here for the partition to be restored or written. */
  readonly isIdle: boolean;
}

/** One holder for each partition, from when it is first heard of until it is lost and nothing waits for it any more. */
export class OwnedPartitions<V, H extends PartitionHolder<V>> {
  private readonly holders = new Map<number, H>();
  private readonly lost = new Map<number, AbortSignal>();

  constructor(private readonly create: () => H) {}

  /** Takes over a partition that has just been restored. */
  own(state: OwnedState<V>): void {
    const { partition, lost } = state;
    this.of(partition).own(state);
    if (this.lost.get(partition) === lost) return;
    this.lost.set(partition, lost);
    const release = (): void => {
      // The partition's messages are lost in the same turn, and with them what waits on their behalf.
      setImmediate(() => {
        this.release();
      });
    };
    lost.addEventListener('abort', release, { once: true });
  }

  of(partition: number): H {
    let holder = this.holders.get(partition);
    if (holder === undefined) this.holders.set(partition, (holder = this.create()));
    return holder;
  }

  all(): Iterable<H> {
    return this.holders.values();
  }

  /** Aborts when the partition is lost: one signal for each time it is owned. Undefined while it is not. */
  ownedUntil(partition: number): AbortSignal | undefined {
    const lost = this.lost.get(partition);
    return lost?.aborted === false ? lost : undefined;
  }

  private release(): void {
    for (const [partition, lost] of this.lost) {
      if (!lost.aborted || this.holders.get(partition)?.isIdle === false) continue;
      this.holders.delete(partition);
      this.lost.delete(partition);
    }
  }
}
