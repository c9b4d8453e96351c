import { ProbingBreaker } from '#libs/delivery';

/** Nothing goes well for so long, and so many calls fail meanwhile: then it is the service. */
const STANDSTILL_MS = 10_000;
const LEAST_FAILURES = 5;

/** A call that {@link StandstillBreaker.begin} has admitted. */
export interface AdmittedCall {
  /** Whether the latest call for the same machine failed: that it fails again is no news. */
  readonly isKnownToFail: boolean;
}

/** `void` where a call says nothing: it was cut off, or was not made after all. */
type CallEnd = 'answered' | 'failed' | 'void';

/**
 * Pauses calls that are made by the clock, each for a machine of its own, while the service answers nobody. A part
 * of the machines may fail for any time and any number of them in a row without it: the breaker opens only when
 * machines that had been answered fail, and nobody else is answered for {@link STANDSTILL_MS}. The first call that is
 * answered closes it.
 */
export class StandstillBreaker extends ProbingBreaker {
  private failures = 0;
  private firstFailureMs = 0;
  private probe: AdmittedCall | undefined;

  /** Undefined where the call may not be made now; one that is admitted is followed by {@link end}. */
  begin(nowMs: number, isKnownToFail: boolean): AdmittedCall | undefined {
    if (!this.admits(nowMs)) return undefined;
    const call: AdmittedCall = { isKnownToFail };
    if (this.callBegins()) this.probe = call;
    return call;
  }

  /** Returns what that has done to the breaker, if anything. */
  end(call: AdmittedCall, end: CallEnd, nowMs: number): 'opened' | 'closed' | undefined {
    const isProbe = call === this.probe;
    if (isProbe) this.probeWasVoid();
    if (isProbe || end === 'answered') this.probe = undefined;
    const wasOpen = this.isOpen;
    if (end === 'void') return undefined;
    if (end === 'answered') {
      this.failures = 0;
      this.close();
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
