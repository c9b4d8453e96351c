import { type PartitionProgress, type Place } from '../partition-progress.js';
import { type Transactions } from '../assigned-partition.js';
import { type TransactionListener } from '../partition-transactions.js';
import { type Entry } from '../waiting-writes.js';

/** Commits what it is given at once, or when it is told to, and nowhere. */
export class FakeTransactions implements Transactions {
  readonly problem = undefined;
  readonly fenced = Promise.resolve();
  readonly entries: Entry[] = [];
  isHeldUp = false;
  isClosed = false;

  constructor(
    private readonly progress: PartitionProgress,
    readonly listener: TransactionListener = {
      recalled: () => undefined,
      committed: () => undefined,
    },
  ) {}

  /** What a commit would say now; undefined while nothing was handed over. */
  get place(): Place | undefined {
    return this.progress.after(new Set(), []);
  }

  add(entry: Entry): void {
    if (this.isClosed) {
      entry.dropped();
      return;
    }
    this.entries.push(entry);
    if (!this.isHeldUp) this.commit();
  }

  commit(): void {
    for (const entry of this.entries.splice(0)) entry.committed();
    if (this.place !== undefined) this.listener.committed(this.place.offset);
  }

  flush(): Promise<void> {
    this.commit();
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.isClosed = true;
    for (const entry of this.entries.splice(0)) entry.dropped();
    return Promise.resolve();
  }
}
