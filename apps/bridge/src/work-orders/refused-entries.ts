import { type InboundMessage } from '#libs/messaging';
import { type Refusal } from './refusal.js';
import { type Entry } from './waiting-entries.js';

/** What cannot be written of the messages of one partition. */
export class RefusedEntries<T extends Entry> {
  /** Those behind them may be written by now: handed in again, they would pass for written as well. */
  private readonly refused = new WeakMap<InboundMessage, Refusal>();

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
}
