import { type RetryCause } from './classify-answer.js';
import { backOffMs, type BackOffOptions } from './back-off.js';

/** Failures in a row, of several machines, after which it is the service rather than a machine. */
const FAILURES_TO_OPEN = 5;
/** Where more machines have something to send, as many may fail for reasons of their own; but no more are tried than these. */
const MACHINES_TRIED = 64;
/** With one machine's failures and nothing else for this long, the flow stands still just as well. */
const STANDSTILL_MS = 5000;

/** A call that has to be made again. */
export interface CallFailure {
  /** One of the machines the call was for. */
  machineId: string;
  /** Machines with something to send. */
  busyMachines: number;
  /** Whether others were in the same call. */
  isShared: boolean;
  cause: RetryCause;
  why: string;
  /** The call was the one that {@link Breaker.callBegins} called a probe; one from before the pause says nothing new. */
  isProbe: boolean;
  /** What the service asked to wait, in milliseconds; 0 when it asked for nothing. */
  retryAfterMs: number;
}

/**
 * The calls of a flow that have failed since the last one that went well, and what they say together: that nothing
 * gets through any more, or only that some machines have trouble of their own. Pure: times are handed in.
 */
class ConsecutiveFailures {
  private count = 0;
  private firstMs = 0;
  private readonly failing = new DistinctMachines();
  private readonly askedToWait = new DistinctMachines();

  get areAny(): boolean {
    return this.count > 0;
  }

  /** Real milliseconds at which the first of them was counted. */
  get sinceMs(): number {
    return this.firstMs;
  }

  add({ machineId, isShared, retryAfterMs }: CallFailure, nowMs: number): void {
    if (this.count === 0) this.firstMs = nowMs;
    this.count += 1;
    this.failing.note(machineId, isShared);
    if (retryAfterMs > 0) this.askedToWait.note(machineId, isShared);
  }

  forget(): void {
    this.count = 0;
    this.failing.forget();
    this.askedToWait.forget();
  }

  /**
   * How long the service asks everybody to wait, by its latest answer. What one machine alone is asked keeps nobody
   * else from being tried, whoever else fails meanwhile: its lane waits for it anyway.
   */
  askedOfAll({ retryAfterMs }: CallFailure): number {
    return this.askedToWait.areSeveral ? retryAfterMs : 0;
  }

  /** Whether the latest of them shows that the flow stands still. */
  areStandstill({ cause, busyMachines }: CallFailure, nowMs: number): boolean {
    if (cause === 'token-refused') return true;
    const enough = Math.max(FAILURES_TO_OPEN, Math.min(busyMachines, MACHINES_TRIED));
    if (this.failing.areSeveral && this.count >= enough) return true;
    return this.count > 1 && this.lastLong(nowMs);
  }

  /** Whether the time that has passed shows it, with no call under way. */
  haveBecomeStandstill(nowMs: number): boolean {
    const isSingle = this.count === 1 && !this.failing.areSeveral;
    return this.areAny && !isSingle && this.lastLong(nowMs);
  }

  private lastLong(nowMs: number): boolean {
    return nowMs - this.firstMs >= STANDSTILL_MS;
  }
}

/** Whether something has to do with several machines, or with one alone for all that is known. */
export class DistinctMachines {
  private first: string | undefined;
  private several = false;

  get areSeveral(): boolean {
    return this.several;
  }

  /** @param isShared whether it has to do with others as well */
  note(machineId: string, isShared: boolean): void {
    this.first ??= machineId;
    this.several ||= isShared || machineId !== this.first;
  }

  forget(): void {
    this.first = undefined;
    this.several = false;
  }
}

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
  private readonly failures = new ConsecutiveFailures();
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

  /** The probe was not made or says nothing: another one may be made at once. */
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
  failed(failure: CallFailure, nowMs: number): boolean {
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
