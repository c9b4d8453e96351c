import type { Clock } from '#libs/clock';
import type { Caller, MachineStateReading } from '#libs/cloud-client';
import { describeFailure, type FailedAnswer } from '../../machine-directory/index.js';
import {
  type ActivityLog,
  durationStart,
  finalUntil,
  logLag,
  segmentsUpTo,
  settledPart,
  unreadAfter,
} from '../derivation/activity-log.js';
import type { LogRequest } from '../derivation/activity-log-need.js';
import type { PublishedPeriod } from '../derivation/tracked-machine.js';
import type { WatchContext } from './watch-context.js';

/** Pauses before an incomplete log is read again, in seconds of the clock; the last one repeats. */
const ASK_AGAIN_SECONDS = [60, 300, 900, 3600];
/** Tolerance: a poll may come a little earlier in its interval than the previous one. */
const EARLY_SECONDS = 30;

/** `noData`: the log has no entry although there was a state. */
type LogAnswer = { kind: 'data'; log: ActivityLog } | { kind: 'noData' } | FailedAnswer;

type FailedRead = Extract<FailedAnswer, { kind: 'retry' }>;

/** The activity log of one machine: since when it has been missing, and when it is read again. */
export class MachineLog {
  /** Monotonic milliseconds. */
  private missingSinceMs: number | null = null;
  /** The latest read, if it failed; there is no other before `restedAtMs` (monotonic). */
  private failedRead: { answer: FailedRead; restedAtMs: number } | null = null;
  /** Incomplete reads in a row: `at` is the latest, `start` the earliest start by the duration; epoch seconds. */
  private incomplete: { times: number; at: number; start: number } | null = null;

  constructor(
    private readonly machineId: string,
    private readonly context: WatchContext,
  ) {}

  async readLog(request: LogRequest, caller: Caller): Promise<LogAnswer> {
    const { from, to, purpose } = request;
    const { machineId, failedRead: failed } = this;
    const { activityLog, clock } = this.context;
    if (failed !== null && clock.monotonicMs() < failed.restedAtMs) return failed.answer;
    const answer = await activityLog.readWindows(machineId, from, to, caller, failed !== null);
    if (answer.kind === 'retry') {
      this.failedRead = { answer, restedAtMs: retryAtMs(answer, clock) };
      return answer;
    }
    this.failedRead = null;
    this.clearMissing();
    if (answer.kind !== 'data') return answer;
    this.context.metrics.logReads.inc({ purpose });
    const log = { ...request, entries: answer.data };
    const before = this.earlierIncomplete(purpose);
    return { kind: 'data', log: before === null ? log : { ...log, startBefore: before.start } };
  }

  /** Returns whether to delay publication, for `STALE_AFTER_SECONDS` in all, for exact starts and missed changes. */
  recordMissing(): boolean {
    const { clock, health, settings } = this.context;
    const nowMs = clock.monotonicMs();
    this.missingSinceMs ??= nowMs;
    return (
      nowMs - Math.max(this.missingSinceMs, health.pollingSinceMs) <=
      settings.polling.staleAfterSeconds * 1000
    );
  }

  /** Ends the delay: when the log is missing again, it may last as long again. */
  clearMissing(): void {
    this.missingSinceMs = null;
  }

  /** Whether this object has state that a new one would lack. */
  get isWorthKeeping(): boolean {
    return this.missingSinceMs !== null || this.failedRead !== null || this.incomplete !== null;
  }

  /** Whether the pause after an incomplete or failed read is over. */
  get isDue(): boolean {
    if (this.incomplete === null) return true;
    const { times, at } = this.incomplete;
    const index = Math.min(times, ASK_AGAIN_SECONDS.length) - 1;
    return this.now - at >= (ASK_AGAIN_SECONDS[index] ?? 0) - EARLY_SECONDS;
  }

  /**
   * Records how far the log explains the reading, and when it is to be read again.
   *
   * @param published periods, to tell how far the log lags
   */
  recordRead(
    { purpose }: LogRequest,
    answer: LogAnswer,
    reading: MachineStateReading,
    published: readonly PublishedPeriod[],
  ): void {
    const { isComplete, problem } =
      answer.kind === 'data'
        ? this.completeness(answer.log, reading, published)
        : { isComplete: false, problem: whyNoLog(answer) };
    const start = durationStart(reading);
    const before = this.earlierIncomplete(purpose) ?? { times: 0, start };
    const asked = { times: before.times + 1, at: this.now, start: Math.min(start, before.start) };
    this.incomplete = isComplete ? null : asked;
    const { activityLog } = this.context;
    if (problem !== undefined) activityLog.markBehind(this.machineId, problem);
    else if (isComplete) activityLog.markComplete(this.machineId);
  }

  /** Whether the log is final and explains the reading, and why it shows less than it should by now, if it does. */
  private completeness(
    log: ActivityLog,
    reading: MachineStateReading,
    published: readonly PublishedPeriod[],
  ): { isComplete: boolean; problem: string | undefined } {
    const { metrics, settings } = this.context;
    const segments = segmentsUpTo(reading, log);
    const final = finalUntil(reading, settings.polling);
    const isComplete =
      settledPart(final, segments) === final &&
      unreadAfter(reading, segments, final, log.startBefore) === null;
    const lagSeconds = logLag(reading, segments, published);
    metrics.logLagSeconds.observe(lagSeconds);
    const isLate = lagSeconds > settings.polling.settleSeconds;
    return { isComplete, problem: isLate ? `it lags by ${lagSeconds} s` : undefined };
  }

  /** A read for news begins a new series of attempts. */
  private earlierIncomplete(purpose: LogRequest['purpose']): typeof this.incomplete {
    return purpose === 'news' ? null : this.incomplete;
  }

  private get now(): number {
    return this.context.clock.nowSeconds();
  }
}

/** Earliest next attempt, in monotonic milliseconds of the clock; `afterMs` is real time. */
export function retryAtMs(failure: FailedAnswer, clock: Clock): number {
  const afterMs = failure.kind === 'retry' ? (failure.afterMs ?? 0) : 0;
  return clock.monotonicMs() + afterMs * clock.speed;
}

function whyNoLog(answer: Exclude<LogAnswer, { kind: 'data' }>): string {
  return answer.kind === 'noData' ? 'no entries' : describeFailure(answer);
}
