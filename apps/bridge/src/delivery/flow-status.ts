import { Logger } from '@nestjs/common';
import { everyRealMs, realNowMs } from '#libs/clock';
import { ProbingBreaker } from '#libs/delivery';
import type { FlowHold } from '../flow-control/index.js';
import type { RetryCause } from './verdict.js';

const REVIEW_MS = 1000;

/** Whether a flow's calls get through, for `/health/ready`; logs when that changes. */
export class FlowStatus {
  private readonly logger = new Logger('FlowStatus');
  readonly breaker = new Breaker();
  private stopReviews: (() => void) | undefined;
  /** The latest failed call, with the real milliseconds of its end. */
  lastFailure: (Pick<CallFailure, 'why' | 'cause' | 'machineId'> & { atMs: number }) | undefined;

  /** @param isStuck whether failed commands wait while none is under way or may be sent now */
  constructor(
    private readonly flow: string,
    private readonly hold: Pick<FlowHold, 'isHeld'>,
    private readonly isStuck: () => boolean,
  ) {}

  /** Whether operators have paused the flow, or whether that is not known yet. */
  get isHeld(): boolean {
    return this.hold.isHeld;
  }

  admitsCall(): boolean {
    return !this.isHeld && this.breaker.admitsCallAt(realNowMs());
  }

  /** The service has taken or refused a call that began at `startedMs`. Returns whether that resumes a paused flow. */
  noteSuccess(startedMs: number): boolean {
    const isResumed = this.breaker.recordSuccess(startedMs);
    if (isResumed) this.logger.log({ msg: 'flow moves again', flow: this.flow });
    return isResumed;
  }

  noteFailure(failure: CallFailure): void {
    const { why, cause, machineId } = failure;
    this.lastFailure = { why, cause, machineId, atMs: realNowMs() };
    this.stopReviews ??= everyRealMs(REVIEW_MS, () => this.reviewStandstill());
    if (this.breaker.recordFailure(failure, realNowMs())) this.logPaused();
  }

  private logPaused(): void {
    const { why, cause, machineId } = this.lastFailure ?? {};
    this.logger.warn({ msg: 'flow paused, probing', flow: this.flow, why, cause, machineId });
  }

  /** Runs every second while calls have failed: commands that wait for a long `Retry-After` produce no failures. */
  private reviewStandstill(): void {
    const nothingMoves = !this.isHeld && this.isStuck();
    if (nothingMoves && this.breaker.openIfStandstill(realNowMs())) this.logPaused();
    if (this.breaker.isInDoubt) return;
    this.stopReviews?.();
    this.stopReviews = undefined;
  }
}

/** Failures in a row, of several machines, that mean the service rather than a machine. */
const FAILURES_TO_OPEN = 5;
/** The most machines tried before the breaker opens: that many may fail for reasons of their own. */
const MACHINES_TRIED = 64;
/** Failures of a single machine also mean a standstill if no call goes well for this long. */
const STANDSTILL_MS = 5000;

export interface CallFailure {
  /** The machine of the call, or one of them; of a call to an ERP, the order. */
  machineId: string;
  busyMachines: number;
  isShared: boolean;
  cause: RetryCause;
  why: string;
  /** The call was a probe; other failures during a pause began before it and prove nothing new. */
  isProbe: boolean;
  /** The wait that the service asked for, in milliseconds; 0 if none. */
  retryAfterMs: number;
}

/** Whether failures concern several machines. */
class DistinctMachines {
  areSeveral = false;
  private first: string | undefined;

  /** @param isShared whether other machines shared the call */
  addMachine(machineId: string, isShared: boolean): void {
    this.first ??= machineId;
    this.areSeveral ||= isShared || machineId !== this.first;
  }
}

/**
 * Stops a flow when no call gets through, so that a service that is down gets single probes instead of a call for every
 * waiting machine. The first call that goes well closes it. One machine that fails while others get through does not
 * open it, but a refused token (401) does at once. Pure: times are handed in.
 */
export class Breaker extends ProbingBreaker {
  /** Failed calls since the last that went well; the first was counted at `sinceMs`, in real time. */
  private failures = 0;
  private sinceMs = 0;
  private failing = new DistinctMachines();
  private askedToWait = new DistinctMachines();
  private latestWhy = '';

  get openBecause(): string | undefined {
    return this.isOpen ? this.latestWhy : undefined;
  }

  /**
   * The service has taken or refused a call: it works. A call that began before the failures that opened the breaker
   * proves nothing. Returns whether that closed the breaker.
   */
  recordSuccess(startedMs = Infinity): boolean {
    // Without failures the breaker is closed.
    if (this.failures === 0) return false;
    const wasOpen = this.isOpen;
    if (wasOpen && startedMs <= this.sinceMs) return false;
    this.failures = 0;
    [this.failing, this.askedToWait] = [new DistinctMachines(), new DistinctMachines()];
    this.closeBreaker();
    return wasOpen;
  }

  /** Returns whether that opened the breaker. */
  recordFailure(failure: CallFailure, nowMs: number): boolean {
    const { machineId, isShared, retryAfterMs } = failure;
    const wasOpen = this.isOpen;
    this.latestWhy = failure.why;
    if (this.failures === 0) this.sinceMs = nowMs;
    this.failures += 1;
    this.failing.addMachine(machineId, isShared);
    if (retryAfterMs > 0) this.askedToWait.addMachine(machineId, isShared);
    // A `Retry-After` to a single machine holds for that machine alone, whose lane waits anyway.
    const askedMs = this.askedToWait.areSeveral ? retryAfterMs : 0;
    if (wasOpen && !failure.isProbe) {
      // Calls that began before the pause prove nothing new; only their `Retry-After` counts.
      this.nextProbeAtMs = Math.max(this.nextProbeAtMs, nowMs + askedMs);
      return false;
    }
    if (!wasOpen && !this.isStandstill(failure, nowMs)) return false;
    this.waitForProbe(nowMs, askedMs);
    return !wasOpen;
  }

  /** Closed, but calls have failed and none has gone well since: {@link openIfStandstill} may open it. */
  get isInDoubt(): boolean {
    return !this.isOpen && this.failures > 0;
  }

  /** Opens it where all failed commands wait for a `Retry-After`; returns whether that opened it. */
  openIfStandstill(nowMs: number): boolean {
    // A single failure of a single machine proves nothing, however long ago it was.
    const areMany = this.failures > 1 || this.failing.areSeveral;
    if (!this.isInDoubt || !areMany || !this.haveLastedLong(nowMs)) return false;
    this.waitForProbe(nowMs);
    return true;
  }

  /** Whether the latest failure shows that no call gets through, rather than that some machines fail. */
  private isStandstill({ cause, busyMachines }: CallFailure, nowMs: number): boolean {
    if (cause === 'token-refused') return true;
    const enough = Math.max(FAILURES_TO_OPEN, Math.min(busyMachines, MACHINES_TRIED));
    if (this.failing.areSeveral && this.failures >= enough) return true;
    return this.failures > 1 && this.haveLastedLong(nowMs);
  }

  private haveLastedLong(nowMs: number): boolean {
    return nowMs - this.sinceMs >= STANDSTILL_MS;
  }
}
