import { type CloudAnswer, type MachineInfo, type MachineStateReading } from '#libs/cloud-client';
import { type Failure } from '../../machine-directory/index.js';
import { activityLogNeed, knownAfter } from '../derivation/activity-log-need.js';
import { type Sighting } from '../derivation/derive-state-changes.js';
import { type ActivityLog } from '../derivation/new-periods.js';
import { type TrackedMachine } from '../derivation/tracked-machine.js';
import { MachineMemory, type Publish } from './machine-memory.js';
import { type Polled } from './poll-loop.js';
import { type WatchContext } from './watch-context.js';

/** One machine of an owned partition: polls it and publishes what has changed. */
export class MachineWatch implements Polled {
  private readonly ending = new AbortController();
  private readonly memory: MachineMemory;
  private knownUntil: number | null = null;
  private answeredAt: number;
  private logMissingSince: number | null = null;
  private hasLeft = false;

  constructor(
    private info: MachineInfo,
    remembered: TrackedMachine | undefined,
    publish: Publish,
    private readonly context: WatchContext,
  ) {
    this.memory = new MachineMemory(remembered, publish, context);
    this.answeredAt = context.clock.nowSeconds();
  }

  get machineId(): string {
    return this.info.machineId;
  }

  get hasEnded(): boolean {
    return this.ending.signal.aborted;
  }

  get updatedAt(): number | null {
    return this.tracked?.lastUpdateTime ?? null;
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
    this.ending.abort(new Error(`${this.machineId} is no longer watched`));
    this.context.health.forget(this.machineId);
  }

  async poll(): Promise<number> {
    try {
      if (!this.hasLeft) return await this.ask();
      if (this.tracked !== undefined) await this.settle({ kind: 'lost', reason: 'removed' });
      this.end();
    } catch (error) {
      if (!this.hasEnded) throw error;
    }
    return 0;
  }

  async passOver(): Promise<void> {
    const { latestFailure } = this.context.health;
    if (latestFailure !== undefined) await this.lostWhenSilent(latestFailure);
  }

  private async ask(): Promise<number> {
    const answer = await this.context.client.getMachineState(this.machineId, this.ending.signal);
    switch (answer.kind) {
      case 'data':
        this.context.metrics.polled('data');
        return this.read(answer.data);
      case 'noData':
        this.context.metrics.polled('noData');
        this.answered();
        await this.settle({ kind: 'lost', reason: 'noData' });
        return 0;
      default:
        return this.unanswered(answer);
    }
  }

  private async read(reading: MachineStateReading): Promise<number> {
    const { health, clock } = this.context;
    const from = activityLogNeed(this.tracked, reading, this.knownUntil);
    let log: ActivityLog | null = null;
    if (from !== null) {
      const to = Math.max(clock.nowSeconds(), reading.lastUpdateTime);
      const answer = await this.context.activityLog.read(
        this.machineId,
        from,
        to,
        this.ending.signal,
      );
      if (answer.kind === 'data') log = { from, entries: answer.data };
      else if (this.isWorthWaitingFor(answer)) {
        health.failed(this.machineId, answer);
        return answer.kind === 'retry' ? (answer.afterMs ?? 0) : 0;
      }
    }
    this.logMissingSince = null;
    this.answered();
    await this.settle({ kind: 'reading', reading, log });
    this.knownUntil = Math.max(this.knownUntil ?? 0, knownAfter(reading, log));
    return 0;
  }

  /** Exact starts and missed changes are worth a delay, but not an endless one. */
  private isWorthWaitingFor(answer: CloudAnswer<unknown>): boolean {
    if (answer.kind !== 'retry') return false;
    const now = this.context.clock.nowSeconds();
    this.logMissingSince ??= now;
    this.answeredAt = now;
    return now - this.logMissingSince <= this.staleAfterSeconds;
  }

  private answered(): void {
    this.answeredAt = this.context.clock.nowSeconds();
    this.context.health.answered(this.machineId);
  }

  private async unanswered(answer: Failure): Promise<number> {
    const { health, metrics } = this.context;
    metrics.polled(answer.kind === 'rejected' ? 'rejected' : lossReason(answer));
    health.failed(this.machineId, answer);
    await this.lostWhenSilent(answer);
    return answer.kind === 'retry' ? (answer.afterMs ?? 0) : 0;
  }

  private async lostWhenSilent(latest: Failure): Promise<void> {
    if (this.context.clock.nowSeconds() - this.answeredAt <= this.staleAfterSeconds) return;
    await this.settle({ kind: 'lost', reason: lossReason(latest) });
  }

  private settle(sighting: Sighting): Promise<void> {
    return this.memory.settle(this.info, sighting);
  }

  private get staleAfterSeconds(): number {
    return this.context.settings.polling.staleAfterSeconds;
  }
}

function lossReason(failure: Failure): 'forbidden' | 'unreachable' {
  return failure.kind === 'unauthorised' ? 'forbidden' : 'unreachable';
}
