import { type MachineStateReading } from '#libs/cloud-client';
import { type Failure } from '../../machine-directory/index.js';
import { activityLogNeed } from '../derivation/activity-log-need.js';
import { type Sighting } from '../derivation/derive-state-changes.js';
import { type Seen, seenAfter, seenWithoutLog } from '../derivation/seen.js';
import { type TrackedMachine } from '../derivation/tracked-machine.js';
import { MachineLog } from './machine-log.js';
import { type SightingTime } from './machine-memory.js';
import { ReadingIntake } from './reading-intake.js';
import { type WatchContext } from './watch-context.js';

/** What one turn has found out of a machine. */
export interface Finding {
  sighting: Sighting;
  at: SightingTime;
  /** Real milliseconds the service asked to be left alone for. */
  restMs: number;
  /** What has been seen of the machine once the sighting is published. */
  seen: Seen | null;
}

/** Asks the service about one machine: its state, and its log where the state does not say enough. */
export class MachineInquiry {
  private readonly log: MachineLog;
  private readonly intake: ReadingIntake;
  private seen: Seen | null = null;
  private lastUpdateTime = 0;
  /** When that was seen first, to tell a service that stands from one whose clock is off. */
  private lastUpdateSeenAt = 0;
  private answeredAt: number;

  /** @param signal of the partition: aborts when that is lost */
  constructor(
    private readonly machineId: string,
    private readonly context: WatchContext,
    private readonly signal: AbortSignal,
  ) {
    this.log = new MachineLog(machineId, context);
    this.intake = new ReadingIntake(({ lastUpdateTime }) => {
      context.health.isAhead(machineId, lastUpdateTime);
    });
    this.answeredAt = this.now;
  }

  /** @param tracked what is remembered of the machine */
  async ask(tracked: TrackedMachine | undefined): Promise<Finding> {
    const { metrics, client, health } = this.context;
    const answer = await client.getMachineState(this.machineId, this.signal);
    switch (answer.kind) {
      case 'data':
        metrics.polled('data');
        health.answered();
        return this.read(this.intake.take(answer.data, this.now), tracked);
      case 'noData':
        metrics.polled('noData');
        health.answered();
        this.completed();
        return this.finding({ kind: 'lost', reason: 'noData' });
      default:
        metrics.polled(answer.kind === 'rejected' ? 'rejected' : lossReason(answer));
        health.failed(this.machineId, answer);
        return this.without(answer);
    }
  }

  /** What follows from having no answer: without one for too long, the machine is lost. */
  without(latest: Failure): Finding {
    const { staleAfterSeconds } = this.context.settings.polling;
    const isLost = this.now - this.answeredAt > staleAfterSeconds;
    const restMs = restAfter(latest);
    return isLost
      ? this.finding({ kind: 'lost', reason: lossReason(latest) }, restMs)
      : this.finding({ kind: 'listed' }, restMs);
  }

  /** The directory does not list the machine any more. */
  departure(): Finding {
    return this.finding({ kind: 'lost', reason: 'removed' });
  }

  /** Called once the finding is published, and not before: what was not committed is found again. */
  remember({ sighting, seen }: Finding): void {
    if (sighting.kind === 'lost') this.log.isNotMissed();
    // In place: a new one each minute of a hundred thousand machines would leave the heap in shreds.
    if (this.seen !== null && seen !== null) Object.assign(this.seen, seen);
    else this.seen = seen;
  }

  private async read(
    reading: MachineStateReading,
    tracked: TrackedMachine | undefined,
  ): Promise<Finding> {
    const { seen } = this;
    const at = { now: this.now, updateSeenAt: this.updateSeenAt(reading) };
    const context = { ...this.context.settings.polling, ...at };
    const request = activityLogNeed(tracked, reading, seen, context);
    if (request === null) this.log.isNotMissed();
    const answer = request === null ? null : await this.log.read(request, this.signal);
    const restMs = answer?.kind === 'retry' ? restAfter(answer) : 0;
    const isForNews = request?.isForNews === true;
    if (answer?.kind === 'retry' && isForNews && this.log.isWorthWaitingFor()) {
      this.answeredAt = this.now;
      this.context.health.waitsForLog(this.machineId, answer);
      return this.finding({ kind: 'listed' }, restMs);
    }
    this.completed();
    const log = answer?.kind === 'data' ? answer.log : null;
    // What could not be read is asked for again, however little the next reading gives cause to.
    const isUnread = isForNews && log === null;
    const after = isUnread ? seenWithoutLog(reading, tracked, seen) : seenAfter(reading, log, seen);
    return { sighting: { kind: 'reading', reading, log }, at, restMs, seen: after };
  }

  private updateSeenAt({ lastUpdateTime }: MachineStateReading): number {
    if (lastUpdateTime > this.lastUpdateTime) {
      this.lastUpdateTime = lastUpdateTime;
      this.lastUpdateSeenAt = this.now;
    }
    return this.lastUpdateSeenAt;
  }

  private completed(): void {
    this.answeredAt = this.now;
    this.context.health.completed(this.machineId);
  }

  private finding(sighting: Sighting, restMs = 0): Finding {
    return { sighting, at: { now: this.now }, restMs, seen: this.seen };
  }

  private get now(): number {
    return this.context.clock.nowSeconds();
  }
}

function lossReason(failure: Failure): 'forbidden' | 'unreachable' {
  return failure.kind === 'unauthorised' ? 'forbidden' : 'unreachable';
}

function restAfter(failure: Failure): number {
  return failure.kind === 'retry' ? (failure.afterMs ?? 0) : 0;
}
