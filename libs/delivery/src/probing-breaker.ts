import { backOffMs, type BackOffOptions } from './back-off.js';

const PROBE_BACK_OFF: BackOffOptions = { baseMs: 500, capMs: 5000 };
/** The shortest wait for a probe: full jitter alone may give 0. */
const LEAST_PROBE_WAIT_MS = 200;

/**
 * A circuit breaker with probes: while it is open, it admits one call at a time to test whether the service answers
 * again, after growing waits. The subclass decides when it opens and closes. Pure: times are real milliseconds handed
 * in.
 */
export abstract class ProbingBreaker {
  protected nextProbeAtMs = 0;
  private open = false;
  private isProbing = false;
  private probes = 0;

  constructor(private readonly random: () => number = Math.random) {}

  get isOpen(): boolean {
    return this.open;
  }

  /** When the next probe may begin; undefined while closed or while a probe is under way. */
  get nextProbeMs(): number | undefined {
    return this.open && !this.isProbing ? this.nextProbeAtMs : undefined;
  }

  admitsCallAt(nowMs: number): boolean {
    return !this.open || (!this.isProbing && nowMs >= this.nextProbeAtMs);
  }

  /** Records the begin of an admitted call; returns whether it is a probe. */
  beginCall(): boolean {
    this.isProbing = this.open;
    return this.isProbing;
  }

  /** The probe was not made or proves nothing: another may begin at once. */
  voidProbe(): void {
    this.isProbing = false;
  }

  /** Opens the breaker if it is closed. The next probe begins after `leastMs` or later. */
  protected waitForProbe(nowMs: number, leastMs = 0): void {
    this.open = true;
    this.isProbing = false;
    this.probes += 1;
    const waitMs = backOffMs(this.probes, PROBE_BACK_OFF, this.random);
    this.nextProbeAtMs = nowMs + Math.max(LEAST_PROBE_WAIT_MS, waitMs, leastMs);
  }

  protected closeBreaker(): void {
    this.open = false;
    this.isProbing = false;
    this.probes = 0;
  }
}
