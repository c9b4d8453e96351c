import { backOffMs, type BackOffOptions } from './back-off.js';

const PROBE_BACK_OFF: BackOffOptions = { baseMs: 500, capMs: 5000 };
/** A probe's wait is never shorter than this: full jitter alone could come to nothing. */
const LEAST_PROBE_WAIT_MS = 200;

/**
 * A circuit breaker that is probed: while it is open, one call at a time is let through to see whether the service
 * answers again, after waits that grow. When it opens and closes is up to its subclass. Pure: times are real
 * milliseconds handed in.
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

  /** When the next probe may begin; undefined while closed, and while one is under way. */
  get nextProbeMs(): number | undefined {
    return this.open && !this.isProbing ? this.nextProbeAtMs : undefined;
  }

  admits(nowMs: number): boolean {
    return !this.open || (!this.isProbing && nowMs >= this.nextProbeAtMs);
  }

  /** A call begins that {@link admits} allowed; returns whether it is a probe. */
  callBegins(): boolean {
    this.isProbing = this.open;
    return this.isProbing;
  }

  /** The probe was not made or says nothing: another one may be made at once. */
  probeWasVoid(): void {
    this.isProbing = false;
  }

  /** Opens it, if need be, until a probe goes well: the next begins after `leastMs` or later. */
  protected waitForProbe(nowMs: number, leastMs = 0): void {
    this.open = true;
    this.isProbing = false;
    this.probes += 1;
    const waitMs = backOffMs(this.probes, PROBE_BACK_OFF, this.random);
    this.nextProbeAtMs = nowMs + Math.max(LEAST_PROBE_WAIT_MS, waitMs, leastMs);
  }

  protected close(): void {
    this.open = false;
    this.isProbing = false;
    this.probes = 0;
  }
}
