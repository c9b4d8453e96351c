import { backOffMs, type BackOffOptions } from '#libs/delivery';

/** Nothing goes well for so long, and so many calls fail meanwhile: then it is the service. */
const STANDSTILL_MS = 10_000;
const LEAST_FAILURES = 5;

const PROBE_BACK_OFF: BackOffOptions = { baseMs: 500, capMs: 5000 };
/** A probe's wait is never shorter than this: full jitter alone could come to nothing. */
const LEAST_PROBE_WAIT_MS = 200;

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
 * machines that had been answered fail, and nobody else is answered for {@link STANDSTILL_MS}. While it is open, one
 * call at a time is admitted to see, and the first that is answered closes it. Pure: times are real milliseconds.
 */
export class StandstillBreaker {
  private failures = 0;
  private firstFailureMs = 0;
  private open = false;
  private probe: AdmittedCall | undefined;
  private probes = 0;
  private nextProbeAtMs = 0;

  constructor(private readonly random: () => number = Math.random) {}

  get isOpen(): boolean {
    return this.open;
  }

  /** When the next probe may begin; undefined while closed, and while one is under way. */
  get nextProbeMs(): number | undefined {
    return this.open && this.probe === undefined ? this.nextProbeAtMs : undefined;
  }

  /** Undefined where the call may not be made now; one that is admitted is followed by {@link end}. */
  begin(nowMs: number, isKnownToFail: boolean): AdmittedCall | undefined {
    const call: AdmittedCall = { isKnownToFail };
    if (!this.open) return call;
    if (this.probe !== undefined || nowMs < this.nextProbeAtMs) return undefined;
    this.probe = call;
    return call;
  }

  /** Returns what that has done to the breaker, if anything. */
  end(call: AdmittedCall, end: CallEnd, nowMs: number): 'opened' | 'closed' | undefined {
    const isProbe = call === this.probe;
    if (isProbe) this.probe = undefined;
    if (end === 'void') return undefined;
    if (end === 'answered') return this.close();
    if (this.open) {
      if (isProbe) this.waitForProbe(nowMs);
      return undefined;
    }
    if (!call.isKnownToFail) {
      if (this.failures === 0) this.firstFailureMs = nowMs;
      this.failures += 1;
    }
    const isStandstill =
      this.failures >= LEAST_FAILURES && nowMs - this.firstFailureMs >= STANDSTILL_MS;
    if (!isStandstill) return undefined;
    this.open = true;
    this.waitForProbe(nowMs);
    return 'opened';
  }

  private close(): 'closed' | undefined {
    const wasOpen = this.open;
    this.failures = 0;
    this.probes = 0;
    this.open = false;
    this.probe = undefined;
    return wasOpen ? 'closed' : undefined;
  }

  private waitForProbe(nowMs: number): void {
    this.probes += 1;
    const waitMs = backOffMs(this.probes, PROBE_BACK_OFF, this.random);
    this.nextProbeAtMs = nowMs + Math.max(LEAST_PROBE_WAIT_MS, waitMs);
  }
}
