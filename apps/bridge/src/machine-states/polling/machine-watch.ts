import { type MachineInfo, type MachineStateReading } from '#libs/cloud-client';
import { type Failure } from '../../machine-directory/index.js';
import { activityLogNeed } from '../derivation/activity-log-need.js';
import { type Sighting } from '../derivation/derive-state-changes.js';
import { type Seen, seenAfter, seenWithoutLog } from '../derivation/seen.js';
import { type Observation, type TrackedMachine } from '../derivation/tracked-machine.js';
import { MachineLog } from './machine-log.js';
import { MachineMemory, type SightingTime, type StoredMachines } from './machine-memory.js';
import { type Poll, type Polled } from './poll-loop.js';
import { type WatchContext } from './watch-context.js';

/** One machine of an owned partition: polls it and publishes what has changed. */
export class MachineWatch implements Polled {
  private readonly memory: MachineMemory;
  private readonly log: MachineLog;
  private seen: Seen | null = null;
  /** Of the latest update, and when it came; to tell a service that stands from one whose clock is off. */
  private update = { time: 0, seenAt: 0 };
  private answeredAt: number;
  private hasLeft = false;
  private isOver = false;

  /** @param signal of the partition: aborts when that is lost */
  constructor(
    private info: MachineInfo,
    stored: StoredMachines,
    private readonly context: WatchContext,
    private readonly signal: AbortSignal,
  ) {
    this.memory = new MachineMemory(info.machineId, stored, context);
    this.log = new MachineLog(info.machineId, context);
    this.answeredAt = context.clock.nowSeconds();
  }

  get machineId(): string {
    return this.info.machineId;
  }

  get hasEnded(): boolean {
    return this.isOver || this.signal.aborted;
  }

  get updatedAt(): number | null {
    return this.memory.updatedAt;
  }

  /** Undefined until the first answer. */
  get observation(): Observation | undefined {
    return this.memory.observation;
  }

  /** Undefined until the first answer. */
  get tracked(): TrackedMachine | undefined {
    return this.memory.tracked;
  }

  /** The directory lists it, described as this. */
  describe(info: MachineInfo): void {
    this.info = info;
    this.hasLeft = false;
  }

  /** The directory no longer lists it: reported at the next turn, so that it cannot overtake a poll. */
  leave(): void {
    this.hasLeft = true;
  }

  end(): void {
    this.isOver = true;
    this.context.health.forget(this.machineId);
    this.context.reasons.forget(this.machineId);
  }

  async poll(): Promise<Poll> {
    if (this.hasLeft) return { restMs: 0, conclude: () => this.passOver() };
    const { metrics, client, health } = this.context;
    const answer = await client.getMachineState(this.machineId, this.signal);
    switch (answer.kind) {
      case 'data':
        metrics.polled('data');
        health.answered();
        return this.read(answer.data);
      case 'noData':
        metrics.polled('noData');
        health.answered();
        this.completed();
        return this.sees({ kind: 'lost', reason: 'noData' });
      default:
        metrics.polled(answer.kind === 'rejected' ? 'rejected' : lossReason(answer));
        health.failed(this.machineId, answer);
        return this.sees(this.sightingWithout(answer), restAfter(answer));
    }
  }

  passOver(): Promise<void> {
    if (this.hasLeft) return this.depart();
    const { latestFailure } = this.context.health;
    return latestFailure === undefined
      ? Promise.resolve()
      : this.settle(this.sightingWithout(latestFailure), { now: this.now });
  }

  private async read(reading: MachineStateReading): Promise<Poll> {
    const { polling } = this.context.settings;
    const at = { now: this.now, updateSeenAt: this.updateSeenAt(reading) };
    const { tracked } = this;
    const request = activityLogNeed(tracked, reading, this.seen, { ...polling, ...at });
    const answer = request === null ? null : await this.log.read(request, this.signal);
    if (answer?.kind === 'retry' && request?.isForNews === true && this.log.isWorthWaitingFor()) {
      this.answeredAt = this.now;
      this.context.health.waitsForLog(this.machineId, answer);
      return this.sees({ kind: 'listed' }, restAfter(answer));
    }
    if (request === null) this.log.isNotMissed();
    const log = answer?.kind === 'data' ? answer.log : null;
    this.completed();
    const conclude = async (): Promise<void> => {
      await this.settle({ kind: 'reading', reading, log }, at);
      // What could not be read is asked for again, however little the next reading gives cause to.
      const isUnread = request?.isForNews === true && log === null;
      this.seen = isUnread
        ? seenWithoutLog(reading, tracked, this.seen)
        : seenAfter(reading, log, this.seen);
    };
    return { restMs: answer?.kind === 'retry' ? restAfter(answer) : 0, conclude };
  }

  /** Listed again while that is being published, the machine is one that comes back, and watched on. */
  private async depart(): Promise<void> {
    const at = { now: this.now };
    if (this.observation !== undefined) await this.settle({ kind: 'lost', reason: 'removed' }, at);
    if (this.hasLeft) this.end();
    else this.context.reasons.forget(this.machineId);
  }

  private updateSeenAt({ lastUpdateTime }: MachineStateReading): number {
    if (lastUpdateTime > this.update.time) this.update = { time: lastUpdateTime, seenAt: this.now };
    return this.update.seenAt;
  }

  private completed(): void {
    this.answeredAt = this.now;
    this.context.health.completed(this.machineId);
  }

  /** Without an answer for too long, the machine is lost. */
  private sightingWithout(latest: Failure): Sighting {
    const { staleAfterSeconds } = this.context.settings.polling;
    const isLost = this.now - this.answeredAt > staleAfterSeconds;
    return isLost ? { kind: 'lost', reason: lossReason(latest) } : { kind: 'listed' };
  }

  private sees(sighting: Sighting, restMs = 0): Poll {
    const at = { now: this.now };
    return { restMs, conclude: () => this.settle(sighting, at) };
  }

  /** What comes to light once the partition is lost is for its next owner to find. */
  private async settle(sighting: Sighting, at: SightingTime): Promise<void> {
    if (this.hasEnded) return;
    if (sighting.kind === 'lost') this.log.isNotMissed();
    await this.memory.settle(this.info, sighting, at);
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
