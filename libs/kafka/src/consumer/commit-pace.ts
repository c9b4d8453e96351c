const BUSY_MS = 1000;
/** So many partitions commit at the interval that was asked for: each commit costs about a millisecond, whatever is in it. */
const FEW_PARTITIONS = 12;
const MOST_STRETCHED = 2.5;

/** How far the transactions of a partition lie apart: further where many partitions are busy at once. */
export class CommitPace {
  private readonly begunMs = new Map<object, number>();

  /** @param baseMs real milliseconds, for few partitions */
  constructor(private readonly baseMs: number) {}

  /** A transaction of a partition begins. */
  begun(partition: object, nowMs: number): void {
    this.begunMs.delete(partition);
    this.begunMs.set(partition, nowMs);
    for (const [other, atMs] of this.begunMs) {
      if (atMs > nowMs - BUSY_MS) break;
      this.begunMs.delete(other);
    }
  }

  get intervalMs(): number {
    const stretch = this.begunMs.size / FEW_PARTITIONS;
    return this.baseMs * Math.min(MOST_STRETCHED, Math.max(1, stretch));
  }
}
