/**
 * Why messages wait though they have been fetched: for what they are judged by, for what is finished
 * already, or for a rebalance to be over.
 */
export type HoldReason = 'state' | 'recall' | 'rest';

/** What the messages of a partition wait for. */
export class Holds {
  private readonly reasons = new Set<HoldReason>();

  add(reason: HoldReason): void {
    this.reasons.add(reason);
  }

  delete(reason: HoldReason): void {
    this.reasons.delete(reason);
  }

  get isAny(): boolean {
    return this.reasons.size > 0;
  }

  /** Whether something is lacking. In a rebalance nothing is: it is over in a moment. */
  get isForLack(): boolean {
    return this.reasons.has('state') || this.reasons.has('recall');
  }
}
