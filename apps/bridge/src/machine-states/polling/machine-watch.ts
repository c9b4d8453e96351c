import { type MachineInfo, type MachineStateReading } from '#libs/cloud-client';
import { describeFailure, type Failure } from '../../machine-directory/index.js';
import { activityLogNeed, type Seen, seenAfter } from '../derivation/activity-log-need.js';
import { type Sighting } from '../derivation/derive-state-changes.js';
import { type TrackedMachine } from '../derivation/tracked-machine.js';
import { MachineLog } from './machine-log.js';
import { MachineMemory, type Publish } from './machine-memory.js';
import { type Polled } from './poll-loop.js';
import { type WatchContext } from './watch-context.js';

/** One machine of an owned partition: polls it and publishes what has changed. */
export class MachineWatch implements Polled {
  private readonly ending = new AbortController();
  private readonly memory: MachineMemory;
  private readonly log: MachineLog;
  private seen: Seen | null = null;
  /** Of the latest update, and when it came; to tell a service that stands from one whose clock is off. */
  private update = { time: 0, seenAt: 0 };
  private answeredAt: number;
  private hasLeft = false;

  constructor(
    private info: MachineInfo,
    remembered: TrackedMachine | undefined,
    publish: Publish,
    private readonly context: WatchContext,
  ) {
    this.memory = new MachineMemory(remembered, publish, context);
    this.log = new MachineLog(info.machineId, context);
    this.answeredAt = context.clock.nowSeconds();
  }

  get machineId(): string {
    return this.info.machineId;
  }

  get signal(): AbortSignal {
    return this.ending.signal;
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
      if (!this.signal.aborted) throw error;
    }
    return 0;
  }

  private async ask(): Promise<number> {
    const answer = await this.context.client.getMachineState(this.machineId, this.signal);
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
    const { polling } = this.context.settings;
    const context = { ...polling, now: this.now, updateSeenAt: this.updateSeenAt(reading) };
    const request = activityLogNeed(this.tracked, reading, this.seen, context);
    const answer = request === null ? null : await this.log.read(request, this.signal);
    if (answer?.kind === 'retry' && request?.isForNews === true && this.log.isWorthWaitingFor()) {
      this.answeredAt = this.now;
      this.context.health.failed(this.machineId, describeFailure(answer));
      return answer.afterMs ?? 0;
    }
    const log = answer?.kind === 'data' ? answer.log : null;
    this.answered();
    await this.settle({ kind: 'reading', reading, log }, context.updateSeenAt);
    // What could not be read is asked for again, however little the next reading gives cause to.
    const isUnread = request?.isForNews === true && log === null;
    this.seen = isUnread ? null : seenAfter(reading, log, this.seen);
    return answer?.kind === 'retry' ? (answer.afterMs ?? 0) : 0;
  }

  private updateSeenAt({ lastUpdateTime }: MachineStateReading): number {
    if (lastUpdateTime > this.update.time) this.update = { time: lastUpdateTime, seenAt: this.now };
    return this.update.seenAt;
  }

  private answered(): void {
    this.answeredAt = this.now;
    this.context.health.answered(this.machineId);
  }

  private async unanswered(answer: Failure): Promise<number> {
    const { health, metrics } = this.context;
    const reason = answer.kind === 'unauthorised' ? 'forbidden' : 'unreachable';
    metrics.polled(answer.kind === 'rejected' ? 'rejected' : reason);
    health.failed(this.machineId, describeFailure(answer));
    if (this.now - this.answeredAt > this.staleAfterSeconds) {
      await this.settle({ kind: 'lost', reason });
    }
    return answer.kind === 'retry' ? (answer.afterMs ?? 0) : 0;
  }

  private settle(sighting: Sighting, updateSeenAt?: number): Promise<void> {
    return this.memory.settle(this.info, sighting, updateSeenAt);
  }

  private get now(): number {
    return this.context.clock.nowSeconds();
  }

  private get staleAfterSeconds(): number {
    return this.context.settings.polling.staleAfterSeconds;
  }
}
