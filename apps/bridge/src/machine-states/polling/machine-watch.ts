import { isDeepStrictEqual } from 'node:util';
import type { Caller, MachineInfo, MachineStateReading } from '#libs/cloud-client';
import { NO_SPAN, type PollSpan, type Span, type TraceContext } from '#libs/tracing';
import { Absence, type FailedAnswer } from '../../machine-directory/index.js';
import { durationStart } from '../derivation/activity-log.js';
import { activityLogNeed } from '../derivation/activity-log-need.js';
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
  observationOf,
  type TrackedMachine,
  withoutTimesAhead,
} from '../derivation/tracked-machine.js';
import { MachineLog, retryAtMs } from './machine-log.js';
import type { Poll, Polled } from './poll-loop.js';
import type { WatchContext } from './watch-context.js';

/** Result of one turn of a machine. */
interface Finding {
  result: PollResult;
  /** When the service answered, and when the latest update was first seen; epoch seconds of our clock. */
  at: Pick<Freshness, 'now' | 'updateSeenAt'>;
  /** The failed answer; null if the poll was answered. */
  failure: FailedAnswer | null;
  /** Start of the state by its duration, in epoch seconds; remembered once the result is published. */
  durationStart: number | null;
}

/**
 * Polls one machine of an owned partition: reads its state, and its log where the state is not enough, and publishes
 * changes. Of the tracked machine, it keeps the latest update time, which alone is not worth a record in Kafka, and
 * the observation, which is read often. The rest is read from the stored record when needed, since there may be a
 * hundred thousand watches.
 */
export class MachineWatch implements Polled {
  /** Update time of the latest published reading, in epoch seconds. */
  updatedAt: number | null;
  /** Undefined until the first event. */
  observation: Observation | undefined;
  /** Undefined while the machine is listed. */
  private absence: Absence | undefined;
  private isRemoved = false;
  private isOver = false;
  /** Undefined while no log is missing. */
  private missedLog: MachineLog | undefined;
  private durationStart: number | null = null;
  /** The newest update time that was read, published or not, in epoch seconds. */
  private lastUpdateTime = 0;
  /** When `lastUpdateTime` was first seen, to tell a service that stands still from one whose clock is off. */
  private lastUpdateSeenAt = 0;
  /** The latest reading whose update time is too far ahead, as stated by the service and as taken. */
  private replacedTime: { stated: MachineStateReading; taken: MachineStateReading } | null = null;
  private isAhead = false;
  /** When a poll of this machine was last answered, at first when the watch began; monotonic milliseconds. */
  private answeredMs: number;
  /** Failure of the latest poll; null if it was answered. */
  private pollFailure: FailedAnswer | null = null;
  /** No poll is made before this time, as `Retry-After` asks; monotonic milliseconds. */
  private nextPollMs = 0;

  /** @param signal aborts when the partition is lost */
  constructor(
    /** As the directory last listed it. */
    public info: MachineInfo,
    private readonly stored: StoredMachines,
    private readonly context: WatchContext,
    private readonly signal: AbortSignal,
  ) {
    const remembered = stored.get(info.machineId);
    this.updatedAt = remembered?.lastUpdateTime ?? null;
    this.observation = remembered && observationOf(remembered);
    this.answeredMs = context.clock.monotonicMs();
  }

  get machineId(): string {
    return this.info.machineId;
  }

  get hasEnded(): boolean {
    return this.isOver || this.signal.aborted;
  }

  /** Undefined until the first result. */
  get tracked(): TrackedMachine | undefined {
    const stored = this.stored.get(this.machineId);
    if (stored === undefined) return undefined;
    return withoutTimesAhead(
      { ...stored, lastUpdateTime: this.updatedAt },
      this.context.latestSeconds,
    );
  }

  updateInfo(info: MachineInfo): void {
    this.info = info;
    this.absence = undefined;
    this.isRemoved = false;
  }

  recordUnlisted(): void {
    const { clock, settings } = this.context;
    this.absence ??= new Absence(settings.directoryRefreshSeconds);
    if (this.absence.recordAbsence(clock.monotonicMs())) this.markRemoved();
  }

  /** Marks the machine as removed. The next turn publishes that, so that it cannot overtake a poll. */
  markRemoved(): void {
    this.isRemoved = true;
  }

  endWatch(): void {
    this.isOver = true;
    this.context.health.forgetMachine(this.machineId);
    this.context.activityLog.forgetLog(this.machineId);
    this.context.reasons.forgetReasons(this.machineId);
  }

  async poll(): Promise<Poll> {
    const { clock, tracing } = this.context;
    // A machine that is not polled, as `Retry-After` asks, is lost in time all the same.
    if (this.isRemoved || clock.monotonicMs() < this.nextPollMs) {
      return { failure: undefined, logEntries: 0, conclude: () => this.passOver() };
    }
    const span = tracing.pollStarts(this.machineId);
    const finding = await this.readState(span);
    const { failure, result } = finding;
    const logEntries = result.kind === 'reading' ? (result.log?.entries.length ?? 0) : 0;
    return { failure, logEntries, conclude: () => this.publishFinding(finding, span) };
  }

  async passOver(): Promise<void> {
    if (this.isRemoved) await this.publishRemoval();
    else await this.publishFinding(this.findingWithoutCall());
  }

  /** Publishes the removal. If the machine is listed again meanwhile, the watch continues. */
  private async publishRemoval(): Promise<void> {
    // Also of a machine without an event: its registry entry goes.
    if (this.tracked !== undefined) {
      await this.publishFinding(this.finding({ kind: 'lost', reason: 'removed' }));
    }
    if (this.isRemoved) this.endWatch();
    else this.context.reasons.forgetReasons(this.machineId);
  }

  /** Publishes, then updates memory. Once the partition is lost, the next owner derives the events. */
  private async publishFinding(finding: Finding, span: PollSpan = NO_SPAN): Promise<void> {
    if (this.hasEnded) return;
    const { metrics, settings, mostUnreadPeriods } = this.context;
    const before = this.tracked;
    // The time of the answer: if Kafka was unavailable, it may be long ago.
    const context = { ...settings.polling, ...finding.at, mostUnreadPeriods };
    const derivation = deriveStateChanges(this.info, before, finding.result, context);
    const { events, next } = derivation;
    const isNews =
      events.length > 0 ||
      isWorthStoring(before, next) ||
      this.stored.isOverdue(next.lastUpdateTime);
    if (isNews) await this.stored.publishDerivation(derivation, span.context);
    this.updatedAt = next.lastUpdateTime;
    this.observation = observationOf(next);
    for (const { event } of events) metrics.events.inc({ type: event.type });
    this.durationStart = finding.durationStart;
    if (finding.result.kind === 'lost') this.missedLog?.clearMissing();
    if (this.missedLog?.isWorthKeeping === false) this.missedLog = undefined;
    span.endSpan(events.length);
  }

  /** @param turn parent span of the requests */
  private async readState(turn: Span): Promise<Finding> {
    const { tracked } = this;
    const { metrics, client, health } = this.context;
    const caller = { signal: this.signal, causes: [turn] };
    const answer = await client.getMachineState(this.machineId, caller);
    switch (answer.kind) {
      case 'data':
        metrics.polls.inc({ outcome: 'data' });
        this.recordAnswer();
        return this.findingWithLog(this.acceptReading(answer.data), tracked, caller);
      case 'noData':
        metrics.polls.inc({ outcome: 'noData' });
        this.recordAnswer();
        health.recordWorking(this.machineId);
        return this.finding({ kind: 'lost', reason: 'noData' });
      default:
        metrics.polls.inc({
          outcome: answer.kind === 'rejected' ? 'rejected' : lossReason(answer),
        });
        health.recordFailing(this.machineId, answer);
        this.pollFailure = answer;
        this.nextPollMs = retryAtMs(answer, this.context.clock);
        return { ...this.findingWithoutAnswer(answer, this.answeredMs), failure: answer };
    }
  }

  /**
   * Finding of a turn without a call, because polls are paused or `Retry-After` asks to wait. A machine whose own
   * latest poll was answered is lost only once no machine has been answered for as long.
   */
  private findingWithoutCall(): Finding {
    const { health } = this.context;
    const { pollFailure: unanswered, answeredMs } = this;
    if (unanswered !== null) return this.findingWithoutAnswer(unanswered, answeredMs);
    const { latestFailure } = health;
    if (latestFailure === undefined) return this.finding({ kind: 'listed' });
    return this.findingWithoutAnswer(latestFailure, Math.max(answeredMs, health.answeredMs));
  }

  private get ensuredLog(): MachineLog {
    return (this.missedLog ??= new MachineLog(this.machineId, this.context));
  }

  /** Replaces an update time too far ahead by the time of arrival, and warns of the first such reading in a row. */
  private acceptReading(stated: MachineStateReading): MachineStateReading {
    const taken = this.withPlausibleTime(stated);
    const isAhead = taken !== stated;
    if (isAhead && !this.isAhead) {
      this.context.health.reportAhead(this.machineId, stated.lastUpdateTime);
    }
    this.isAhead = isAhead;
    return taken;
  }

  /** The same answer again keeps its replaced time; otherwise a service that stands still would never become stale. */
  private withPlausibleTime(stated: MachineStateReading): MachineStateReading {
    const { replacedTime } = this;
    if (replacedTime !== null && isDeepStrictEqual(replacedTime.stated, stated))
      return replacedTime.taken;
    const now = this.context.latestSeconds;
    if (!isTooFarAhead(stated.lastUpdateTime, now)) return stated;
    // Newer than any update known, also to an earlier process: that one may be up to 300 seconds ahead itself.
    const known = Math.max(this.lastUpdateTime, this.tracked?.lastUpdateTime ?? 0);
    const taken = { ...stated, lastUpdateTime: Math.max(now, known + 1) };
    this.replacedTime = { stated, taken };
    return taken;
  }

  /** Finding without an answer: the machine is lost if `answeredMs` is too long ago. */
  private findingWithoutAnswer(latest: FailedAnswer, answeredMs: number): Finding {
    const { settings, clock, health } = this.context;
    const silentMs = clock.monotonicMs() - Math.max(answeredMs, health.pollingSinceMs);
    const silentSeconds = silentMs / 1000;
    const isLost = silentSeconds > settings.polling.staleAfterSeconds;
    return this.finding(isLost ? { kind: 'lost', reason: lossReason(latest) } : { kind: 'listed' });
  }

  private async findingWithLog(
    reading: MachineStateReading,
    tracked: TrackedMachine | undefined,
    caller: Caller,
  ): Promise<Finding> {
    const at = { now: this.now, updateSeenAt: this.updateSeenAt(reading) };
    const earlier = { durationStart: this.durationStart, isLogDue: this.missedLog?.isDue ?? true };
    const context = { ...this.context.settings.polling, ...at };
    const request = activityLogNeed(tracked, reading, earlier, context);
    const result = { kind: 'reading', reading, log: null } as const;
    const finding = { result, at, failure: null, durationStart: durationStart(reading) };
    if (request === null) {
      if ((tracked?.unreadFrom ?? null) === null) this.missedLog?.clearMissing();
      this.context.health.recordWorking(this.machineId);
      return finding;
    }
    const answer = await this.ensuredLog.readLog(request, caller);
    const { purpose, missingFrom } = request;
    if (answer.kind === 'retry' && purpose === 'news' && this.ensuredLog.recordMissing()) {
      this.context.health.recordFailing(this.machineId, answer);
      return this.finding({ kind: 'listed' });
    }
    this.context.health.recordWorking(this.machineId);
    this.ensuredLog.recordRead(request, answer, reading, tracked?.periods ?? []);
    if (answer.kind === 'data') {
      return { ...finding, result: { ...result, log: answer.log, missingFrom } };
    }
    // Periods that were to be confirmed still are; none is missing.
    const missing = purpose === 'confirmation' ? {} : { missingFrom };
    return { ...finding, result: { ...result, ...missing } };
  }

  private updateSeenAt({ lastUpdateTime }: MachineStateReading): number {
    if (lastUpdateTime > this.lastUpdateTime) {
      this.lastUpdateTime = lastUpdateTime;
      this.lastUpdateSeenAt = this.now;
    }
    return this.lastUpdateSeenAt;
  }

  private recordAnswer(): void {
    this.answeredMs = this.context.clock.monotonicMs();
    this.pollFailure = null;
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

/** The tracked machines of one partition, as stored in Kafka. */
export interface StoredMachines {
  get(machineId: string): TrackedMachine | undefined;
  /** Whether an update of this time (epoch seconds) is published even if nothing else has changed. */
  isOverdue(lastUpdateTime: number | null): boolean;
  /** Resolves once it is committed and {@link get} returns it; `trace` is the context of the events. */
  publishDerivation(derivation: Derivation, trace: TraceContext | undefined): Promise<void>;
}
