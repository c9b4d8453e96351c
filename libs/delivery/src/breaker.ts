import { backOffMs, type BackOffOptions } from './back-off.js';
import { type Failure, FailuresInARow } from './failures-in-a-row.js';

const PROBE_BACK_OFF: BackOffOptions = { baseMs: 500, capMs: 5000 };
/** A probe's wait is never shorter than this: full jitter alone could come to nothing. */
const LEAST_PROBE_WAIT_MS = 200;

/**
 * Stops a flow when nothing gets through any more, so that a service that is down is asked now and
 * then rather than for every machine that waits: while it is open, one call at a time is let through to
 * see, and the first that goes well closes it. One machine that fails while others get through never
 * opens it. Pure: times are real milliseconds handed in.
 */
export class Breaker {
  private readonly failures = new FailuresInARow();
  private latestWhy = '';
  private isOpen = false;
  private isProbing = false;
  private probes = 0;
  private nextProbeAtMs = 0;

  constructor(private readonly random: () => number = Math.random) {}

  /** Why it is open, in words; undefined while it is closed. */
  get openBecause(): string | undefined {
    return this.isOpen ? this.latestWhy : undefined;
  }

  /** Real milliseconds at which the next call may be tried; undefined while closed or while one is tried. */
  get nextProbeMs(): number | undefined {
    return this.isOpen && !this.isProbing ? this.nextProbeAtMs : undefined;
  }

  /** Whether a call may begin. */
  admits(nowMs: number): boolean {
    return !this.isOpen || (!this.isProbing && nowMs >= this.nextProbeAtMs);
  }

  /** A call begins that {@link admits} allowed; returns whether it is a probe. */
  callBegins(): boolean {
    this.isProbing = this.isOpen;
    return this.isProbing;
  }

  /** The probe came to nothing that tells: another one may be made at once. */
  probeWasVoid(): void {
    this.isProbing = false;
  }

  /**
   * The service has taken or refused a call: it works. One that had begun before the failures that opened
   * the breaker says nothing of what came since, and leaves it open.
   *
   * @param startedMs when the call began, where that is known
   * @returns whether that closed the breaker
   */
  succeeded(startedMs = Infinity): boolean {
    const wasOpen = this.isOpen;
    if (wasOpen && startedMs <= this.failures.sinceMs) return false;
    this.failures.forget();
    this.isOpen = false;
    this.isProbing = false;
    this.probes = 0;
    return wasOpen;
  }

  /** Returns whether that opened the breaker. */
  failed(failure: Failure, nowMs: number): boolean {
    this.latestWhy = failure.why;
    this.failures.add(failure, nowMs);
    const askedMs = this.failures.askedOfAll(failure);
    if (this.isOpen && !failure.isProbe) {
      // Calls from before the pause say nothing new, but for how long the service asks to be left alone.
      this.nextProbeAtMs = Math.max(this.nextProbeAtMs, nowMs + askedMs);
      return false;
    }
    if (!this.isOpen && !this.failures.areStandstill(failure, nowMs)) return false;
    return this.open(nowMs, askedMs);
  }

  /** Something has failed, and nothing has gone well since: {@link review} may find that nothing moves. */
  get isInDoubt(): boolean {
    return !this.isOpen && this.failures.areAny;
  }

  /**
   * Nothing is under way, and perhaps nothing will fail for long: all that waits may wait for as long as the
   * service has asked. Returns whether that opened the breaker.
   */
  review(nowMs: number): boolean {
    if (this.isOpen || !this.failures.haveBecomeStandstill(nowMs)) return false;
    return this.open(nowMs, 0);
  }

  /** Returns whether it was closed before. */
  private open(nowMs: number, askedMs: number): boolean {
    const wasOpen = this.isOpen;
    this.isOpen = true;
    this.isProbing = false;
    this.probes += 1;
    const waitMs = backOffMs(this.probes, PROBE_BACK_OFF, this.random);
    this.nextProbeAtMs = nowMs + Math.max(LEAST_PROBE_WAIT_MS, waitMs, askedMs);
    return !wasOpen;
  }
}
