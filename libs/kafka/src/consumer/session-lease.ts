import { realEpochMs, realNowMs } from '#libs/clock';

/** How long ago it was certain that the group coordinator takes this process for a member. */
export class SessionLease {
  private monotonicMs = -Infinity;
  private wallMs = -Infinity;

  /**
   * The coordinator has confirmed it, in answer to what was sent then (real epoch milliseconds): an
   * answer that lay in a socket while the process was suspended is as old as its question.
   */
  renew(sentAtMs = realEpochMs()): void {
    const ageMs = Math.max(0, realEpochMs() - sentAtMs);
    this.monotonicMs = realNowMs() - ageMs;
    this.wallMs = realEpochMs() - ageMs;
  }

  /** The longer by two clocks: one stands still while the machine is suspended, the other may be set back. */
  get ageMs(): number {
    return Math.max(realNowMs() - this.monotonicMs, realEpochMs() - this.wallMs);
  }
}
