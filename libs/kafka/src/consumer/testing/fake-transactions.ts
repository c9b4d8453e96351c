import type { Transactions } from '../assigned-partition.js';
import type { PartitionProgress, CommitPosition } from '../partition-progress.js';
import type { TransactionListener } from '../partition-transactions.js';
import type { TransactionEntry } from '../pending-entries.js';

/** Commits entries at once, or on {@link commit}, without Kafka. */
export class FakeTransactions implements Transactions {
  readonly problem = undefined;
  readonly fenced = Promise.resolve();
  readonly entries: TransactionEntry[] = [];
  isHeldUp = false;
  isClosed = false;

  constructor(
    private readonly progress: PartitionProgress,
    readonly listener: TransactionListener = {
      progressRead: () => undefined,
      offsetCommitted: () => undefined,
    },
  ) {}

  /** What a commit would say now; undefined while nothing was handed over. */
  get place(): CommitPosition | undefined {
    return this.progress.positionAfter(new Set(), []);
  }

  addToTransaction(entry: TransactionEntry): void {
    if (this.isClosed) {
      entry.entryDropped();
      return;
    }
    this.entries.push(entry);
    if (!this.isHeldUp) this.commit();
  }

  commit(): void {
    for (const entry of this.entries.splice(0)) entry.entryCommitted();
    if (this.place !== undefined) this.listener.offsetCommitted(this.place.offset);
  }

  commitPending(): Promise<void> {
    this.commit();
    return Promise.resolve();
  }

  endTransactions(): Promise<void> {
    this.isClosed = true;
    for (const entry of this.entries.splice(0)) entry.entryDropped();
    return Promise.resolve();
  }
}
