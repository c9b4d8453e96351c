const BUSY_MS = 1000;
/** As many busy partitions commit at the configured interval: each commit costs about a millisecond of CPU. */
const FEW_PARTITIONS = 12;
const MOST_STRETCHED = 2.5;

/** Interval between the transactions of a partition: longer while many partitions are busy. */
export class CommitInterval {
  private readonly beganMs = new Map<object, number>();

  /** @param baseMs real milliseconds with few busy partitions */
  constructor(private readonly baseMs: number) {}

  transactionBegins(partition: object, nowMs: number): void {
    this.beganMs.delete(partition);
    this.beganMs.set(partition, nowMs);
    for (const [other, atMs] of this.beganMs) {
      if (atMs > nowMs - BUSY_MS) break;
      this.beganMs.delete(other);
    }
  }

  get intervalMs(): number {
    const stretch = this.beganMs.size / FEW_PARTITIONS;
    return this.baseMs * Math.min(MOST_STRETCHED, Math.max(1, stretch));
  }
}
