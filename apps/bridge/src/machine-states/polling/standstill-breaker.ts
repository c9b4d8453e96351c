import { ProbingBreaker } from '#libs/delivery';

/** Time without an answer, and failures in it, after which the service counts as down. */
const STANDSTILL_MS = 10_000;
const LEAST_FAILURES = 5;

/** A call that {@link StandstillBreaker.admitCall} has admitted. */
export interface AdmittedCall {
  /** Whether the latest call for the same machine failed: another failure does not count. */
  readonly isKnownToFail: boolean;
}

/** `void`: the call was cut off or not made, and says nothing. */
type CallEnd = 'answered' | 'failed' | 'void';

/**
 * Pauses scheduled calls, each for one machine, while the service answers none. Some machines may fail for any time
 * without opening the breaker: it opens only if machines that were answered before fail and no call is answered for
 * {@link STANDSTILL_MS}. The first answered call closes it.
 */
export class StandstillBreaker extends ProbingBreaker {
  private failures = 0;
  private firstFailureMs = 0;
  private probe: AdmittedCall | undefined;

  /** Admits a call; undefined if it may not be made now. Every admitted call ends with {@link endCall}. */
  admitCall(nowMs: number, isKnownToFail: boolean): AdmittedCall | undefined {
    if (!this.admitsCallAt(nowMs)) return undefined;
    const call: AdmittedCall = { isKnownToFail };
    if (this.beginCall()) this.probe = call;
    return call;
  }

  /** Records the end of a call; returns whether that opened or closed the breaker. */
  endCall(call: AdmittedCall, end: CallEnd, nowMs: number): 'opened' | 'closed' | undefined {
    const isProbe = call === this.probe;
    if (isProbe) this.voidProbe();
    if (isProbe || end === 'answered') this.probe = undefined;
    const wasOpen = this.isOpen;
    if (end === 'void') return undefined;
    if (end === 'answered') {
      this.failures = 0;
      this.closeBreaker();
      return wasOpen ? 'closed' : undefined;
    }
    if (!wasOpen && !call.isKnownToFail) {
      if (this.failures === 0) this.firstFailureMs = nowMs;
      this.failures += 1;
    }
    const isStandstill =
      this.failures >= LEAST_FAILURES && nowMs - this.firstFailureMs >= STANDSTILL_MS;
    if (wasOpen ? isProbe : isStandstill) this.waitForProbe(nowMs);
    return !wasOpen && isStandstill ? 'opened' : undefined;
  }
}
