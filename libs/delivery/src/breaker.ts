import { backOffMs, type BackOffOptions } from './back-off.js';
import { type RetryCause } from './judge-answer.js';
import { MachinesConcerned } from './machines-concerned.js';

/** Failures in a row, of several machines, after which it is the service rather than a machine. */
const FAILURES_TO_OPEN = 5;
/** Where more machines have something to send, as many may fail for reasons of their own; but no more are tried than these. */
const MACHINES_TRIED = 64;
/** With one machine's failures and nothing else for this long, the flow stands still just as well. */
const STANDSTILL_MS = 5000;
const PROBE_BACK_OFF: BackOffOptions = { baseMs: 500, capMs: 5000 };
/** A probe's wait is never shorter than this: full jitter alone could come to nothing. */
const LEAST_PROBE_WAIT_MS = 200;

/** A call that has to be made again. */
export interface Failure {
  /** One of the machines the call was for. */
  machineId: string;
  /** Machines with something to send; 0 where calls are made by the clock rather than for what waits. */
  busyMachines: number;
  /** Whether others were in the same call. */
  inCompany: boolean;
  cause: RetryCause;
  why: string;
  /** The call was the one that {@link Breaker.callBegins} called a probe; one from before the pause tells nothing new. */
  isProbe: boolean;
  /** What the service asked to wait, in milliseconds; 0 when it asked for nothing. */
  retryAfterMs: number;
}

/**
 * Stops a flow when nothing gets through any more, so that a service that is down is asked now and
 * then rather than for every machine that waits: while it is open, one call at a time is let through to
 * see, and the first that goes well closes it. One machine that fails while others get through never
 * opens it. Pure: times are real milliseconds handed in.
 */
export class Breaker {
  private failures = 0;
  private firstFailureMs = 0;
  private readonly failing = new MachinesConcerned();
  private readonly askedToWait = new MachinesConcerned();
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
    if (wasOpen && startedMs <= this.firstFailureMs) return false;
    this.failures = 0;
    this.failing.forget();
    this.askedToWait.forget();
    this.isOpen = false;
    this.isProbing = false;
    this.probes = 0;
    return wasOpen;
  }

  /** Returns whether that opened the breaker. */
  failed(failure: Failure, nowMs: number): boolean {
    this.latestWhy = failure.why;
    if (this.failures === 0) this.firstFailureMs = nowMs;
    this.failures += 1;
    this.failing.note(failure.machineId, failure.inCompany);
    const askedMs = this.askedOfAll(failure);
    if (this.isOpen && !failure.isProbe) {
      // Calls from before the pause say nothing new, but for how long the service asks to be left alone.
      this.nextProbeAtMs = Math.max(this.nextProbeAtMs, nowMs + askedMs);
      return false;
    }
    if (!this.isOpen && !this.isStandstill(failure, nowMs)) return false;
    return this.open(nowMs, askedMs);
  }

  /** Something has failed, and nothing has gone well since: {@link review} may find that nothing moves. */
  get isInDoubt(): boolean {
    return !this.isOpen && this.failures > 0;
  }

  /**
   * Nothing is under way, and perhaps nothing will fail for long: all that waits may wait for as long as the
   * service has asked. Returns whether that opened the breaker.
   */
  review(nowMs: number): boolean {
    const isSingle = this.failures === 1 && !this.failing.areSeveral;
    if (!this.isInDoubt || isSingle || !this.hasFailedForLong(nowMs)) return false;
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

  /**
   * How long the service asks everybody to wait. What one machine alone is asked keeps nobody else from
   * being tried, whoever else fails meanwhile: its lane waits for it anyway.
   */
  private askedOfAll({ machineId, inCompany, retryAfterMs }: Failure): number {
    if (retryAfterMs === 0) return 0;
    this.askedToWait.note(machineId, inCompany);
    return this.askedToWait.areSeveral ? retryAfterMs : 0;
  }

  private isStandstill({ cause, busyMachines }: Failure, nowMs: number): boolean {
    if (cause === 'token-refused') return true;
    const enough = Math.max(FAILURES_TO_OPEN, Math.min(busyMachines, MACHINES_TRIED));
    if (this.failing.areSeveral && this.failures >= enough) return true;
    return this.failures > 1 && this.hasFailedForLong(nowMs);
  }

  private hasFailedForLong(nowMs: number): boolean {
    return nowMs - this.firstFailureMs >= STANDSTILL_MS;
  }
}
