import { type InboundMessage, type RecordRefusedError } from '#libs/messaging';
import { type Refusal } from './refusal.js';
import { type Entry } from './waiting-entries.js';

/** What cannot be written of the messages of one partition. */
export class RefusedEntries<T extends Entry> {
  /** Those behind them may be written by now: handed in again, they would pass for written as well. */
  private readonly refused = new WeakMap<InboundMessage, Refusal>();
  /** Could not be encoded when it was written by itself, for the first time. */
  private doubtful: T | undefined;

  constructor(private readonly tell: (entry: T, refusal: Refusal) => void) {}

  /** Says so again of what has been refused before. */
  has(entry: T): boolean {
    const refusal = this.refused.get(entry.message);
    if (refusal !== undefined) this.add(entry, refusal);
    return refusal !== undefined;
  }

  add(entry: T, refusal: Refusal): void {
    this.refused.set(entry.message, refusal);
    try {
      this.tell(entry, refusal);
    } catch (error) {
      entry.message.fail(error);
    }
  }

  /**
   * Whether it is refused, now that it has been written by itself, or is to be tried again: the client throws
   * errors of this kind for reasons of its own as well, but not twice in a row.
   */
  judge(entry: T, { code }: RecordRefusedError, error: unknown): boolean {
    if (code === 'too-large') {
      this.add(entry, { why: code, error });
      return true;
    }
    const isRefused = this.doubtful === entry;
    this.doubtful = isRefused ? undefined : entry;
    if (isRefused) this.add(entry, { why: 'defect', error });
    return isRefused;
  }
}
