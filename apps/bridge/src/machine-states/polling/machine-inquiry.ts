import { type MachineStateReading } from '#libs/cloud-client';
import { describeFailure, type FailedAnswer } from '../../machine-directory/index.js';
import { activityLogNeed, type LogRequest } from '../derivation/activity-log-need.js';
import { type Sighting } from '../derivation/derive-state-changes.js';
import { durationStart } from '../derivation/duration-start.js';
import { segmentsUpTo } from '../derivation/logged-periods.js';
import { finalUntil, logLag, settledPart, unreadAfter } from '../derivation/settled-log.js';
import { type TrackedMachine } from '../derivation/tracked-machine.js';
import { type LogAnswer, MachineLog } from './machine-log.js';
import { type SightingTime } from './machine-memory.js';
import { ReadingIntake } from './reading-intake.js';
import { type WatchContext } from './watch-context.js';

/** What one turn has found out of a machine. */
export interface Finding {
  sighting: Sighting;
  at: SightingTime;
  /** Why the machine was not answered for; null when it was. */
  failure: FailedAnswer | null;
  /** Real milliseconds the service asked to be left alone for. */
  restMs: number;
  /** Start of the state as its duration has it, in epoch seconds, once the sighting is published. */
  durationStart: number | null;
}

/** Asks the service about one machine: its state, and its log where the state does not say enough. */
export class MachineInquiry {
  private readonly log: MachineLog;
  private readonly intake = new ReadingIntake();
  private durationStart: number | null = null;
  private lastUpdateTime = 0;
  /** When that was seen first, to tell a service that stands from one whose clock is off. */
  private lastUpdateSeenAt = 0;
  /** When the machine's own poll was answered last, at first when it began to be polled; monotonic milliseconds. */
  private answeredMs: number;
  /** Why its latest poll was not answered; null when it was. */
  private unanswered: FailedAnswer | null = null;

  /** @param signal of the partition: aborts when that is lost */
  constructor(
    private readonly machineId: string,
    private readonly context: WatchContext,
    private readonly signal: AbortSignal,
  ) {
    this.log = new MachineLog(machineId, context);
    this.answeredMs = context.clock.monotonicMs();
  }

  /** @param tracked what is remembered of the machine */
  async ask(tracked: TrackedMachine | undefined): Promise<Finding> {
    const { metrics, client, health } = this.context;
    const answer = await client.getMachineState(this.machineId, this.signal);
    switch (answer.kind) {
      case 'data':
        metrics.polled('data');
        this.answered();
        return this.read(this.taken(answer.data), tracked);
      case 'noData':
        metrics.polled('noData');
        this.answered();
        health.completed(this.machineId);
        return this.finding({ kind: 'lost', reason: 'noData' });
      default:
        metrics.polled(answer.kind === 'rejected' ? 'rejected' : lossReason(answer));
        health.failed(this.machineId, answer);
        this.unanswered = answer;
        return { ...this.without(answer, this.answeredMs), failure: answer };
    }
  }

  /**
   * The machine is not asked for, since the service answers nobody. That alone is no verdict on a machine whose
   * own latest poll was answered: it is lost once nobody has been answered for as long.
   */
  passedOver(): Finding {
    const { health } = this.context;
    const { unanswered, answeredMs } = this;
    if (unanswered !== null) return this.without(unanswered, answeredMs);
    const { latestFailure } = health;
    if (latestFailure === undefined) return this.finding({ kind: 'listed' });
    return this.without(latestFailure, Math.max(answeredMs, health.answeredMs));
  }

  /** The directory does not list the machine any more. */
  departure(): Finding {
    return this.finding({ kind: 'lost', reason: 'removed' });
  }

  /** Called once the finding is published, and not before: what was not committed is found again. */
  remember({ sighting, durationStart: start }: Finding): void {
    if (sighting.kind === 'lost') this.log.isNotMissed();
    this.durationStart = start;
  }

  private taken(stated: MachineStateReading): MachineStateReading {
    return this.intake.take(stated, this.context.latestSeconds, () => {
      this.context.health.isAhead(this.machineId, stated.lastUpdateTime);
    });
  }

  /** Without an answer since `answeredMs`, which may be too long ago: then the machine is lost. */
  private without(latest: FailedAnswer, answeredMs: number): Finding {
    const { settings, clock } = this.context;
    const silentSeconds = (clock.monotonicMs() - answeredMs) / 1000;
    const isLost = silentSeconds > settings.polling.staleAfterSeconds;
    const restMs = restAfter(latest);
    return isLost
      ? this.finding({ kind: 'lost', reason: lossReason(latest) }, restMs)
      : this.finding({ kind: 'listed' }, restMs);
  }

  private async read(
    reading: MachineStateReading,
    tracked: TrackedMachine | undefined,
  ): Promise<Finding> {
    const at = { now: this.now, updateSeenAt: this.updateSeenAt(reading) };
    const earlier = { durationStart: this.durationStart, isLogDue: this.log.isDue };
    const context = { ...this.context.settings.polling, ...at };
    const request = activityLogNeed(tracked, reading, earlier, context);
    const sighting = { kind: 'reading', reading, log: null } as const;
    const start = durationStart(reading);
    const finding = { sighting, at, failure: null, restMs: 0, durationStart: start };
    if (request === null) {
      if ((tracked?.unreadFrom ?? null) === null) this.log.isNotMissed();
      this.context.health.completed(this.machineId);
      return finding;
    }
    const answer = await this.log.read(request, this.signal);
    const restMs = answer.kind === 'retry' ? restAfter(answer) : 0;
    const { purpose, missingFrom } = request;
    if (answer.kind === 'retry' && purpose === 'news' && this.log.isWorthWaitingFor()) {
      this.context.health.failed(this.machineId, answer);
      return this.finding({ kind: 'listed' }, restMs);
    }
    this.context.health.completed(this.machineId);
    this.judgeLog(request, answer, reading, tracked);
    if (answer.kind === 'data') {
      return { ...finding, sighting: { ...sighting, log: answer.log, missingFrom } };
    }
    // What was to be confirmed is still to be confirmed; nothing else is missing.
    const missing = purpose === 'confirmation' ? {} : { missingFrom };
    return { ...finding, sighting: { ...sighting, ...missing }, restMs };
  }

  private judgeLog(
    request: LogRequest,
    answer: LogAnswer,
    reading: MachineStateReading,
    tracked: TrackedMachine | undefined,
  ): void {
    if (answer.kind !== 'data') {
      const why = answer.kind === 'retry' ? describeFailure(answer) : answer.why;
      this.log.wasAsked(request, false, why);
      return;
    }
    const { polling } = this.context.settings;
    const segments = segmentsUpTo(reading, answer.log);
    const final = finalUntil(reading, polling);
    const isComplete =
      settledPart(final, segments) === final && unreadAfter(reading, segments) === null;
    const lagSeconds = logLag(reading, segments, tracked?.periods ?? []);
    this.context.metrics.logLag(lagSeconds);
    const isLate = lagSeconds > polling.settleSeconds;
    this.log.wasAsked(request, isComplete, isLate ? `it lags by ${lagSeconds} s` : undefined);
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

  private finding(sighting: Sighting, restMs = 0): Finding {
    return {
      ...{ sighting, at: { now: this.now }, failure: null, restMs },
      durationStart: this.durationStart,
    };
  }

  private get now(): number {
    return this.context.clock.nowSeconds();
  }
}

function lossReason(failure: FailedAnswer): 'forbidden' | 'unreachable' {
  return failure.kind === 'unauthorised' ? 'forbidden' : 'unreachable';
}

function restAfter(failure: FailedAnswer): number {
  return failure.kind === 'retry' ? (failure.afterMs ?? 0) : 0;
}
