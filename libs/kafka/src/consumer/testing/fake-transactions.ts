import type { CommitPosition } from '../../producer/offset-metadata.js';
import type { RecordRefusedError } from '../../producer/outbound-record.js';
import type { TransactionListener } from '../../producer/partition-transactions.js';
import type { TransactionEntry } from '../../producer/pending-entries.js';
import type { Transactions } from '../assigned-partition.js';
import type { PartitionProgress } from '../partition-progress.js';

/** Commits entries at once, or on {@link commit}, without Kafka. */
export class FakeTransactions implements Transactions {
  readonly commitProblem = undefined;
  readonly fenced = Promise.resolve();
  readonly entries: TransactionEntry[] = [];
  isHeldUp = false;
  isClosed = false;

  constructor(
    private readonly progress: PartitionProgress,
    readonly listener: TransactionListener,
  ) {}

  /** The position that a commit would state now; undefined before any message is handed over. */
  get place(): CommitPosition | undefined {
    return this.progress.positionAfter();
  }

  addToTransaction(entry: TransactionEntry): void {
    if (this.isClosed) {
      this.listener.entryDropped(entry);
      return;
    }
    this.entries.push(entry);
    if (!this.isHeldUp) this.commit();
  }

  commit(): void {
    for (const entry of this.entries.splice(0)) this.listener.entryCommitted(entry);
    const { place } = this;
    if (place !== undefined) this.listener.offsetCommitted(place.offset);
  }

  commitPending(): Promise<void> {
    this.commit();
    return Promise.resolve();
  }

  /** Refuses the first entry. */
  refuse(error: RecordRefusedError): void {
    const [entry] = this.entries.splice(0, 1);
    if (entry !== undefined) this.listener.entryRefused(entry, error);
  }

  endTransactions(): Promise<void> {
    this.isClosed = true;
    for (const entry of this.entries.splice(0)) this.listener.entryDropped(entry);
    return Promise.resolve();
  }
}
