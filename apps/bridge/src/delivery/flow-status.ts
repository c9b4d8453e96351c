import { Logger } from '@nestjs/common';
import { everyRealMs, realNowMs } from '#libs/clock';
import { ProbingBreaker } from '#libs/delivery';
import type { FlowHold } from '../flow-control/index.js';
import type { RetryCause } from './verdict.js';

const REVIEW_MS = 1000;

/** Whether a flow gets its commands through, in words for `/health/ready`; logs when that turns. */
export class FlowStatus {
  private readonly logger = new Logger('FlowStatus');
  readonly breaker = new Breaker();
  private stopReviews: (() => void) | undefined;
  /** The latest call that failed, with the real milliseconds of its end. */
  lastFailure: (Pick<CallFailure, 'why' | 'cause' | 'machineId'> & { atMs: number }) | undefined;

  /** @param isStuck whether there is something that has failed, nothing under way, and nothing that may be sent now */
  constructor(
    private readonly flow: string,
    private readonly hold: Pick<FlowHold, 'isHeld'>,
    private readonly isStuck: () => boolean,
  ) {}

  /** Whether operators have paused the flow, or it is not known yet that they have not. */
  get isHeld(): boolean {
    return this.hold.isHeld;
  }

  admits(): boolean {
    return !this.isHeld && this.breaker.admits(realNowMs());
  }

  /** The service has taken a call that began then, or refused it; returns whether the flow, which was paused, moves again. */
  succeeded(startedMs: number): boolean {
    const isResumed = this.breaker.succeeded(startedMs);
    if (isResumed) this.logger.log({ msg: 'flow moves again', flow: this.flow });
    return isResumed;
  }

  failed(failure: CallFailure): void {
    const { why, cause, machineId } = failure;
    this.lastFailure = { why, cause, machineId, atMs: realNowMs() };
    this.stopReviews ??= everyRealMs(REVIEW_MS, () => this.review());
    if (this.breaker.failed(failure, realNowMs())) this.sayPaused();
  }

  private sayPaused(): void {
    const { why, cause, machineId } = this.lastFailure ?? {};
    this.logger.warn({ msg: 'flow paused, probing', flow: this.flow, why, cause, machineId });
  }

  /** Asked now and then while something has failed: what waits for as long as it was asked to fails no more. */
  private review(): void {
    const nothingMoves = !this.isHeld && this.isStuck();
    if (nothingMoves && this.breaker.review(realNowMs())) this.sayPaused();
    if (this.breaker.isInDoubt) return;
    this.stopReviews?.();
    this.stopReviews = undefined;
  }
}

/** Failures in a row, of several machines, after which it is the service rather than a machine. */
const FAILURES_TO_OPEN = 5;
/** How many machines with something to send are tried at most: as many may fail for reasons of their own. */
const MACHINES_TRIED = 64;
/** With one machine's failures and nothing else for this long, the flow stands still just as well. */
const STANDSTILL_MS = 5000;

export interface CallFailure {
  /** The machine that the call was for, or one of them; of a call to an ERP, the order. */
  machineId: string;
  busyMachines: number;
  isShared: boolean;
  cause: RetryCause;
  why: string;
  /** The call was a probe; one from before the pause says nothing new. */
  isProbe: boolean;
  /** The wait that the service asked for, in milliseconds; 0 when it asked for none. */
  retryAfterMs: number;
}

/** Whether something has to do with several machines, or with one alone for all that is known. */
class DistinctMachines {
  areSeveral = false;
  private first: string | undefined;

  /** @param isShared whether it has to do with others as well */
  note(machineId: string, isShared: boolean): void {
    this.first ??= machineId;
    this.areSeveral ||= isShared || machineId !== this.first;
  }
}

/**
 * Stops a flow when nothing gets through any more, so that a service that is down is asked now and then rather than for
 * every machine that waits. The first call that goes well closes it. One machine that fails while others get through
 * never opens it, unless the token is refused for it: a 401 opens it at once. Pure: times are handed in.
 */
export class Breaker extends ProbingBreaker {
  /** Calls that have failed since the last one that went well; the first was counted at `sinceMs`, in real time. */
  private failures = 0;
  private sinceMs = 0;
  private failing = new DistinctMachines();
  private askedToWait = new DistinctMachines();
  private latestWhy = '';

  get openBecause(): string | undefined {
    return this.isOpen ? this.latestWhy : undefined;
  }

  /**
   * The service has taken or refused a call: it works. One that began before the failures that opened the breaker
   * says nothing of what came since. Returns whether that closed the breaker.
   */
  succeeded(startedMs = Infinity): boolean {
    // It is closed where nothing has failed.
    if (this.failures === 0) return false;
    const wasOpen = this.isOpen;
    if (wasOpen && startedMs <= this.sinceMs) return false;
    this.failures = 0;
    [this.failing, this.askedToWait] = [new DistinctMachines(), new DistinctMachines()];
    this.close();
    return wasOpen;
  }

  /** Returns whether that opened the breaker. */
  failed(failure: CallFailure, nowMs: number): boolean {
    const { machineId, isShared, retryAfterMs } = failure;
    const wasOpen = this.isOpen;
    this.latestWhy = failure.why;
    if (this.failures === 0) this.sinceMs = nowMs;
    this.failures += 1;
    this.failing.note(machineId, isShared);
    if (retryAfterMs > 0) this.askedToWait.note(machineId, isShared);
    // What one machine alone is asked keeps nobody else from being tried, whoever else fails: its lane waits anyway.
    const askedMs = this.askedToWait.areSeveral ? retryAfterMs : 0;
    if (wasOpen && !failure.isProbe) {
      // Calls from before the pause say nothing new, but for how long the service asks to be left alone.
      this.nextProbeAtMs = Math.max(this.nextProbeAtMs, nowMs + askedMs);
      return false;
    }
    if (!wasOpen && !this.isStandstill(failure, nowMs)) return false;
    this.waitForProbe(nowMs, askedMs);
    return !wasOpen;
  }

  /** Something has failed, and nothing has gone well since: {@link review} may find that nothing moves. */
  get isInDoubt(): boolean {
    return !this.isOpen && this.failures > 0;
  }

  /** Opens it where all that has failed waits for as long as the service has asked; returns whether that opened it. */
  review(nowMs: number): boolean {
    // A single failure of a single machine shows nothing, however long ago it was.
    const areMany = this.failures > 1 || this.failing.areSeveral;
    if (!this.isInDoubt || !areMany || !this.lastLong(nowMs)) return false;
    this.waitForProbe(nowMs);
    return true;
  }

  /** Whether the latest failure shows that nothing gets through, rather than that some machines have trouble. */
  private isStandstill({ cause, busyMachines }: CallFailure, nowMs: number): boolean {
    if (cause === 'token-refused') return true;
    const enough = Math.max(FAILURES_TO_OPEN, Math.min(busyMachines, MACHINES_TRIED));
    if (this.failing.areSeveral && this.failures >= enough) return true;
    return this.failures > 1 && this.lastLong(nowMs);
  }

  private lastLong(nowMs: number): boolean {
    return nowMs - this.sinceMs >= STANDSTILL_MS;
  }
}
