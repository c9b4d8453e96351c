import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '#libs/clock';
import { describeFailure, type FailedAnswer } from '../../machine-directory/index.js';
import { type AdmittedCall, StandstillBreaker } from './standstill-breaker.js';

/**
 * Tracks machines whose latest poll failed, and pauses polls, except for probes, while the service answers none. An
 * outage makes two log entries. The state is in memory only: the next owner finds out by its own polls.
 */
@Injectable()
export class PollHealth {
  /** Failure of the latest unanswered poll; undefined before the first. */
  latestFailure: FailedAnswer | undefined;
  /** The latest poll that failed, or read of a log that a poll waits for; `at` in epoch seconds, null before the first. */
  lastError: { why: string; at: number } | null = null;
  /** When a poll was last answered, at first the start of the process; monotonic milliseconds of the clock. */
  answeredMs: number;
  /** When polling last began: at the start of the process or after a pause by operators; monotonic milliseconds. */
  pollingSinceMs: number;
  private readonly logger = new Logger('MachineStates');
  private readonly breaker = new StandstillBreaker();
  private readonly failing = new Set<string>();

  constructor(private readonly clock: Clock) {
    this.answeredMs = clock.monotonicMs();
    this.pollingSinceMs = this.answeredMs;
  }

  /** Records that operators have resumed polling. */
  recordResumed(): void {
    this.pollingSinceMs = this.clock.monotonicMs();
  }

  get failingMachines(): number {
    return this.failing.size;
  }

  isFailing(machineId: string): boolean {
    return this.failing.has(machineId);
  }

  get isPaused(): boolean {
    return this.breaker.isOpen;
  }

  /** Why polls are paused, as text; undefined while they are not. */
  get pausedBecause(): string | undefined {
    if (!this.isPaused || this.latestFailure === undefined) return undefined;
    return describeFailure(this.latestFailure);
  }

  /** When the next probe may begin, in monotonic milliseconds of the clock; Infinity if none is awaited. */
  get nextProbeMs(): number {
    return (this.breaker.nextProbeMs ?? Infinity) * this.clock.speed;
  }

  /** Admits a poll; undefined while it may not be made. Every admitted poll ends with {@link endPoll}. */
  admitPoll(isKnownToFail: boolean): AdmittedCall | undefined {
    return this.breaker.admitCall(this.clock.realMs, isKnownToFail);
  }

  /** @param failure the failed answer; null if the poll was answered, undefined if it was not made */
  endPoll(call: AdmittedCall, failure: FailedAnswer | null | undefined): void {
    if (failure === undefined) {
      this.breaker.endCall(call, 'void', this.clock.realMs);
      return;
    }
    // A rejection shows that the operation works: it concerns this machine only.
    const isAnswered = failure === null || failure.kind === 'rejected';
    if (isAnswered) this.answeredMs = this.clock.monotonicMs();
    else this.latestFailure = failure;
    const end = isAnswered ? 'answered' : 'failed';
    const turned = this.breaker.endCall(call, end, this.clock.realMs);
    if (turned === 'opened') this.logger.warn({ msg: 'polls pause', why: this.pausedBecause });
    if (turned === 'closed') this.logger.log({ msg: 'polls go on' });
  }

  /** Records that the machine's poll failed, or the read of its log that the poll waits for. */
  recordFailing(machineId: string, failure: FailedAnswer): void {
    const problem = describeFailure(failure);
    this.lastError = { why: problem, at: this.clock.nowSeconds() };
    if (this.failing.size === 0) this.logger.warn({ msg: 'polls fail', machineId, problem });
    this.failing.add(machineId);
  }

  /** Warns of an update time in the future, in epoch seconds. */
  reportAhead(machineId: string, lastUpdateTime: number): void {
    this.logger.warn({ msg: 'update time is ahead and counts as now', machineId, lastUpdateTime });
  }

  /** Records that the machine's poll was answered and does not wait for its log. */
  recordWorking(machineId: string): void {
    const wasFailing = this.failing.delete(machineId);
    if (wasFailing && this.failing.size === 0) this.logger.log({ msg: 'polls are answered again' });
  }

  forgetMachine(machineId: string): void {
    this.failing.delete(machineId);
  }
}
