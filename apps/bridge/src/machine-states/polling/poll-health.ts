import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '#libs/clock';
import { describeFailure, type FailedAnswer } from '../../machine-directory/index.js';
import { type AdmittedCall, StandstillBreaker } from './standstill-breaker.js';

/**
 * Which machines' latest polls failed, and whether it is the service, which is then asked now and then. An outage is
 * two log entries. In memory alone: the next owner finds out anew.
 */
@Injectable()
export class PollHealth {
  /** Why the latest poll that was not answered was not; undefined before the first. */
  latestFailure: FailedAnswer | undefined;
  /** When any poll was answered last, in monotonic milliseconds of the clock; at first, when the process began. */
  answeredMs: number;
  /** Since when machines are polled without a pause by operators, in which no answer is missing; monotonic milliseconds. */
  pollingSinceMs: number;
  private readonly logger = new Logger('MachineStates');
  private readonly breaker = new StandstillBreaker();
  private readonly failing = new Set<string>();
  private latest: FailedAnswer | undefined;
  private latestAt = 0;

  constructor(private readonly clock: Clock) {
    this.answeredMs = clock.monotonicMs();
    this.pollingSinceMs = this.answeredMs;
  }

  /** Operators have let polling go on. */
  pollingResumes(): void {
    this.pollingSinceMs = this.clock.monotonicMs();
  }

  get failingMachines(): number {
    return this.failing.size;
  }

  isFailing(machineId: string): boolean {
    return this.failing.has(machineId);
  }

  get problem(): string {
    return this.latest === undefined ? '' : describeFailure(this.latest);
  }

  /** The latest poll that failed, `at` in epoch seconds; null before the first. */
  get lastError(): { why: string; at: number } | null {
    return this.latest === undefined ? null : { why: this.problem, at: this.latestAt };
  }

  get isPaused(): boolean {
    return this.breaker.isOpen;
  }

  /** Why polls are paused, in words; undefined while the service answers some. */
  get pausedBecause(): string | undefined {
    if (!this.isPaused || this.latestFailure === undefined) return undefined;
    return describeFailure(this.latestFailure);
  }

  /** When the next poll may be tried, in monotonic milliseconds of the clock; Infinity where that does not matter. */
  get nextProbeMs(): number {
    return (this.breaker.nextProbeMs ?? Infinity) * this.clock.speed;
  }

  /** Undefined while the machine may not be asked for; each call is followed by one of {@link pollEnds}. */
  pollBegins(isKnownToFail: boolean): AdmittedCall | undefined {
    return this.breaker.begin(this.clock.realMs, isKnownToFail);
  }

  /** @param failure why there was no answer; null when there was, undefined when the poll was not made */
  pollEnds(call: AdmittedCall, failure: FailedAnswer | null | undefined): void {
    if (failure === undefined) {
      this.breaker.end(call, 'void', this.clock.realMs);
      return;
    }
    // Refused, the operation works: it is this machine that it has nothing to say of.
    const isAnswered = failure === null || failure.kind === 'rejected';
    if (isAnswered) this.answeredMs = this.clock.monotonicMs();
    else this.latestFailure = failure;
    const turned = this.breaker.end(call, isAnswered ? 'answered' : 'failed', this.clock.realMs);
    if (turned === 'opened') this.logger.warn({ msg: 'polls pause', why: this.pausedBecause });
    if (turned === 'closed') this.logger.log({ msg: 'polls go on' });
  }

  /** There is no answer to the machine's poll, or none to the question for its log, which it waits for. */
  failed(machineId: string, failure: FailedAnswer): void {
    this.latest = failure;
    this.latestAt = this.clock.nowSeconds();
    const { problem } = this;
    if (this.failing.size === 0) this.logger.warn({ msg: 'polls fail', machineId, problem });
    this.failing.add(machineId);
  }

  /** The machine's answer is of a time that has yet to come, in epoch seconds. */
  reportAhead(machineId: string, lastUpdateTime: number): void {
    this.logger.warn({ msg: 'update time is ahead and counts as now', machineId, lastUpdateTime });
  }

  /** The machine's poll has published all that there was. */
  completed(machineId: string): void {
    const wasFailing = this.failing.delete(machineId);
    if (wasFailing && this.failing.size === 0) this.logger.log({ msg: 'polls are answered again' });
  }

  forget(machineId: string): void {
    this.failing.delete(machineId);
  }
}
