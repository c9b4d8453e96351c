import { isDeepStrictEqual } from 'node:util';
import type { Caller, MachineInfo, MachineStateReading } from '#libs/cloud-client';
import { NO_SPAN, type PollSpan, type Span, type TraceContext } from '#libs/tracing';
import { Absence, describeFailure, type FailedAnswer } from '../../machine-directory/index.js';
import {
  durationStart,
  finalUntil,
  logLag,
  segmentsUpTo,
  settledPart,
  unreadAfter,
} from '../derivation/activity-log.js';
import { activityLogNeed, type LogRequest } from '../derivation/activity-log-need.js';
import {
  type Derivation,
  deriveStateChanges,
  type PollResult,
} from '../derivation/derive-state-changes.js';
import {
  type Freshness,
  isTooFarAhead,
  isWorthStoring,
  type Observation,
  type TrackedMachine,
  withoutTimesAhead,
} from '../derivation/tracked-machine.js';
import { type LogAnswer, MachineLog, restedAtMs } from './machine-log.js';
import type { Poll, Polled } from './poll-loop.js';
import type { WatchContext } from './watch-context.js';

/** What one turn has found out of a machine. */
interface Finding {
  result: PollResult;
  /** When the service answered, and when the latest update was seen first; epoch seconds of our clock. */
  at: Pick<Freshness, 'now' | 'updateSeenAt'>;
  /** Why the machine was not answered for; null when it was. */
  failure: FailedAnswer | null;
  /** Start of the state as its duration has it, in epoch seconds, once the result is published. */
  durationStart: number | null;
}

/**
 * One machine of an owned partition: asks the service for its state, and for its log where the state does not say
 * enough, and publishes what has changed. Kept here are the time of its latest update, which alone is not worth a record
 * in Kafka, and its observation, which is asked for all the time; the rest is read from what is stored whenever it is
 * needed, for there may be a hundred thousand of these.
 */
export class MachineWatch implements Polled {
  /** Update time of the latest reading that has been published, in epoch seconds. */
  updatedAt: number | null;
  /** Undefined until the first answer. */
  observation: Observation | undefined;
  /** Undefined while the machine is listed. */
  private absence: Absence | undefined;
  private hasLeft = false;
  private isOver = false;
  /** Undefined while nothing is missing. */
  private missedLog: MachineLog | undefined;
  private durationStart: number | null = null;
  /** The newest update time that was read, published or not, in epoch seconds. */
  private lastUpdateTime = 0;
  /** When `lastUpdateTime` was seen first, to distinguish a service that stands from one whose clock is off. */
  private lastUpdateSeenAt = 0;
  /** The latest reading of a time that cannot be: as the service has it, and as it counts. */
  private redated: { stated: MachineStateReading; taken: MachineStateReading } | null = null;
  private isAhead = false;
  /** When the machine's own poll was answered last, at first when it began to be polled; monotonic milliseconds. */
  private answeredMs: number;
  /** Why its latest poll was not answered; null when it was. */
  private unanswered: FailedAnswer | null = null;
  /** Until when the service asked not to be asked for the machine's state; monotonic milliseconds. */
  private restsUntilMs = 0;

  /** @param signal of the partition: aborts when that is lost */
  constructor(
    /** As the service last described it. */
    public info: MachineInfo,
    private readonly stored: StoredMachines,
    private readonly context: WatchContext,
    private readonly signal: AbortSignal,
  ) {
    const remembered = stored.get(info.machineId);
    this.updatedAt = remembered?.lastUpdateTime ?? null;
    this.observation = remembered?.observation;
    this.answeredMs = context.clock.monotonicMs();
  }

  get machineId(): string {
    return this.info.machineId;
  }

  get hasEnded(): boolean {
    return this.isOver || this.signal.aborted;
  }

  /** Undefined until the first answer. */
  get tracked(): TrackedMachine | undefined {
    const stored = this.stored.get(this.machineId);
    if (stored === undefined) return undefined;
    return withoutTimesAhead(
      { ...stored, lastUpdateTime: this.updatedAt },
      this.context.latestSeconds,
    );
  }

  describe(info: MachineInfo): void {
    this.info = info;
    this.absence = undefined;
    this.hasLeft = false;
  }

  miss(): void {
    const { clock, settings } = this.context;
    this.absence ??= new Absence(settings.directoryRefreshSeconds);
    if (this.absence.isLasting(clock.monotonicMs())) this.leave();
  }

  /** The machine is gone: reported at the next turn, so that it cannot overtake a poll. */
  leave(): void {
    this.hasLeft = true;
  }

  end(): void {
    this.isOver = true;
    this.context.health.forget(this.machineId);
    this.context.activityLog.forget(this.machineId);
    this.context.reasons.forget(this.machineId);
  }

  async poll(): Promise<Poll> {
    const { clock, tracing } = this.context;
    // Passed over for as long as the service asks, it is lost in time all the same.
    if (this.hasLeft || clock.monotonicMs() < this.restsUntilMs) {
      return { failure: undefined, logEntries: 0, conclude: () => this.passOver() };
    }
    const span = tracing.pollStarts(this.machineId);
    const finding = await this.readState(span);
    const { failure, result } = finding;
    const logEntries = result.kind === 'reading' ? (result.log?.entries.length ?? 0) : 0;
    return { failure, logEntries, conclude: () => this.publish(finding, span) };
  }

  async passOver(): Promise<void> {
    if (this.hasLeft) await this.depart();
    else await this.publish(this.passedOver());
  }

  /** Listed again while that is being published, the machine is one that comes back, and watched on. */
  private async depart(): Promise<void> {
    if (this.observation !== undefined) {
      await this.publish(this.finding({ kind: 'lost', reason: 'removed' }));
    }
    if (this.hasLeft) this.end();
    else this.context.reasons.forget(this.machineId);
  }

  /** Publishes before it remembers. What comes to light once the partition is lost is its next owner's to find. */
  private async publish(finding: Finding, span: PollSpan = NO_SPAN): Promise<void> {
    if (this.hasEnded) return;
    const { metrics, settings, mostUnreadPeriods } = this.context;
    const before = this.tracked;
    // when it was seen: while Kafka is away that may be long ago
    const context = { ...settings.polling, ...finding.at, mostUnreadPeriods };
    const derivation = deriveStateChanges(this.info, before, finding.result, context);
    const { events, next } = derivation;
    const isNews =
      events.length > 0 ||
      isWorthStoring(before, next) ||
      this.stored.isOverdue(next.lastUpdateTime);
    if (isNews) await this.stored.publish(derivation, span.context);
    this.updatedAt = next.lastUpdateTime;
    this.observation = next.observation;
    for (const { event } of events) metrics.events.inc({ type: event.type });
    this.durationStart = finding.durationStart;
    if (finding.result.kind === 'lost') this.missedLog?.clearMissing();
    if (this.missedLog?.isWorthKeeping === false) this.missedLog = undefined;
    span.end(events.length);
  }

  /** @param turn what its requests belong to in traces */
  private async readState(turn: Span): Promise<Finding> {
    const { tracked } = this;
    const { metrics, client, health } = this.context;
    const caller = { signal: this.signal, causes: [turn] };
    const answer = await client.getMachineState(this.machineId, caller);
    switch (answer.kind) {
      case 'data':
        metrics.polls.inc({ outcome: 'data' });
        this.answered();
        return this.withLog(this.taken(answer.data), tracked, caller);
      case 'noData':
        metrics.polls.inc({ outcome: 'noData' });
        this.answered();
        health.completed(this.machineId);
        return this.finding({ kind: 'lost', reason: 'noData' });
      default:
        metrics.polls.inc({
          outcome: answer.kind === 'rejected' ? 'rejected' : lossReason(answer),
        });
        health.failed(this.machineId, answer);
        this.unanswered = answer;
        this.restsUntilMs = restedAtMs(answer, this.context.clock);
        return { ...this.without(answer, this.answeredMs), failure: answer };
    }
  }

  /**
   * The machine is not asked for, since the service answers nobody or asked not to be asked for it yet. That it answers
   * nobody is no verdict on a machine whose own latest poll was answered: it is lost once nobody has been answered for as
   * long.
   */
  private passedOver(): Finding {
    const { health } = this.context;
    const { unanswered, answeredMs } = this;
    if (unanswered !== null) return this.without(unanswered, answeredMs);
    const { latestFailure } = health;
    if (latestFailure === undefined) return this.finding({ kind: 'listed' });
    return this.without(latestFailure, Math.max(answeredMs, health.answeredMs));
  }

  private get log(): MachineLog {
    return (this.missedLog ??= new MachineLog(this.machineId, this.context));
  }

  /** The reading; of a time that cannot be, it counts as of when it came. The first of these in a row is reported. */
  private taken(stated: MachineStateReading): MachineStateReading {
    const taken = this.redate(stated);
    const isAhead = taken !== stated;
    if (isAhead && !this.isAhead) {
      this.context.health.reportAhead(this.machineId, stated.lastUpdateTime);
    }
    this.isAhead = isAhead;
    return taken;
  }

  /** The same answer again is no newer: a service that stands would else never become stale. */
  private redate(stated: MachineStateReading): MachineStateReading {
    const { redated } = this;
    if (redated !== null && isDeepStrictEqual(redated.stated, stated)) return redated.taken;
    const now = this.context.latestSeconds;
    if (!isTooFarAhead(stated.lastUpdateTime, now)) return stated;
    // newer than what came before it, also in an earlier process, from a clock that had not run quite so far ahead
    const known = Math.max(this.lastUpdateTime, this.tracked?.lastUpdateTime ?? 0);
    const taken = { ...stated, lastUpdateTime: Math.max(now, known + 1) };
    this.redated = { stated, taken };
    return taken;
  }

  /** Without an answer since `answeredMs`, which may be too long ago: then the machine is lost. */
  private without(latest: FailedAnswer, answeredMs: number): Finding {
    const { settings, clock, health } = this.context;
    const silentMs = clock.monotonicMs() - Math.max(answeredMs, health.pollingSinceMs);
    const silentSeconds = silentMs / 1000;
    const isLost = silentSeconds > settings.polling.staleAfterSeconds;
    return this.finding(isLost ? { kind: 'lost', reason: lossReason(latest) } : { kind: 'listed' });
  }

  private async withLog(
    reading: MachineStateReading,
    tracked: TrackedMachine | undefined,
    caller: Caller,
  ): Promise<Finding> {
    const at = { now: this.now, updateSeenAt: this.updateSeenAt(reading) };
    const earlier = { durationStart: this.durationStart, isLogDue: this.missedLog?.isDue ?? true };
    const context = { ...this.context.settings.polling, ...at };
    const request = activityLogNeed(tracked, reading, earlier, context);
    const result = { kind: 'reading', reading, log: null } as const;
    const start = durationStart(reading);
    const finding = { result, at, failure: null, durationStart: start };
    if (request === null) {
      if ((tracked?.unreadFrom ?? null) === null) this.missedLog?.clearMissing();
      this.context.health.completed(this.machineId);
      return finding;
    }
    const answer = await this.log.read(request, caller);
    const { purpose, missingFrom } = request;
    if (answer.kind === 'retry' && purpose === 'news' && this.log.isWorthWaitingFor()) {
      this.context.health.failed(this.machineId, answer);
      return this.finding({ kind: 'listed' });
    }
    this.context.health.completed(this.machineId);
    this.judgeLog(request, answer, reading, tracked);
    if (answer.kind === 'data') {
      return { ...finding, result: { ...result, log: answer.log, missingFrom } };
    }
    // What was to be confirmed is still to be confirmed; nothing else is missing.
    const missing = purpose === 'confirmation' ? {} : { missingFrom };
    return { ...finding, result: { ...result, ...missing } };
  }

  private judgeLog(
    request: LogRequest,
    answer: LogAnswer,
    reading: MachineStateReading,
    tracked: TrackedMachine | undefined,
  ): void {
    const start = durationStart(reading);
    if (answer.kind !== 'data') {
      const why = answer.kind === 'retry' ? describeFailure(answer) : answer.why;
      this.log.recordRead(request, start, false, why);
      return;
    }
    const { polling } = this.context.settings;
    const segments = segmentsUpTo(reading, answer.log);
    const final = finalUntil(reading, polling);
    const isComplete =
      settledPart(final, segments) === final &&
      unreadAfter(reading, segments, final, answer.log.startBefore) === null;
    const lagSeconds = logLag(reading, segments, tracked?.periods ?? []);
    this.context.metrics.logLagSeconds.observe(lagSeconds);
    const isLate = lagSeconds > polling.settleSeconds;
    const problem = isLate ? `it lags by ${lagSeconds} s` : undefined;
    this.log.recordRead(request, start, isComplete, problem);
  }

  private updateSeenAt({ lastUpdateTime }: MachineStateReading): number {
    if (lastUpdateTime > this.lastUpdateTime) {
      this.lastUpdateTime = lastUpdateTime;
      this.lastUpdateSeenAt = this.now;
    }
    return this.lastUpdateSeenAt;
  }

  private answered(): void {
    this.answeredMs = this.context.clock.monotonicMs();
    this.unanswered = null;
  }

  private finding(result: PollResult): Finding {
    const { now, durationStart } = this;
    return { result, at: { now }, failure: null, durationStart };
  }

  private get now(): number {
    return this.context.clock.nowSeconds();
  }
}

function lossReason(failure: FailedAnswer): 'forbidden' | 'unreachable' {
  return failure.kind === 'unauthorised' ? 'forbidden' : 'unreachable';
}

/** The machines of one partition as Kafka has them. */
export interface StoredMachines {
  get(machineId: string): TrackedMachine | undefined;
  /** Whether an update of that time (epoch seconds) is to be published though nothing else has changed. */
  isOverdue(lastUpdateTime: number | null): boolean;
  /** Resolves once Kafka has it, and {@link get} shows it; `trace` is what the events belong to. */
  publish(derivation: Derivation, trace: TraceContext | undefined): Promise<void>;
}
