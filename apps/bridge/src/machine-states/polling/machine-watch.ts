import { type MachineInfo } from '#libs/cloud-client';
import { Absence } from '../../machine-directory/index.js';
import { type Observation, type TrackedMachine } from '../derivation/tracked-machine.js';
import { type Finding, MachineInquiry } from './machine-inquiry.js';
import { MachineMemory, type StoredMachines } from './machine-memory.js';
import { type Poll, type Polled } from './polled.js';
import { type WatchContext } from './watch-context.js';

/** One machine of an owned partition: polls it and publishes what has changed. */
export class MachineWatch implements Polled {
  private readonly memory: MachineMemory;
  private readonly inquiry: MachineInquiry;
  private readonly absence: Absence;
  private hasLeft = false;
  private isOver = false;

  /** @param signal of the partition: aborts when that is lost */
  constructor(
    private info: MachineInfo,
    stored: StoredMachines,
    private readonly context: WatchContext,
    private readonly signal: AbortSignal,
  ) {
    this.absence = new Absence(context.settings.directoryRefreshSeconds);
    this.memory = new MachineMemory(info.machineId, stored, context);
    this.inquiry = new MachineInquiry(info.machineId, context, signal);
  }

  get machineId(): string {
    return this.info.machineId;
  }

  get factoryId(): string {
    return this.info.factoryId;
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
    this.absence.end();
    this.hasLeft = false;
  }

  /** The directory does not list it. */
  miss(): void {
    if (this.absence.isLasting(this.context.clock.monotonicMs())) this.leave();
  }

  /** It is gone: reported at the next turn, so that it cannot overtake a poll. */
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
    if (this.hasLeft) return { failure: undefined, restMs: 0, conclude: () => this.passOver() };
    const finding = await this.inquiry.ask(this.tracked);
    const { failure, restMs } = finding;
    return { failure, restMs, conclude: () => this.settle(finding) };
  }

  async passOver(): Promise<void> {
    if (this.hasLeft) await this.depart();
    else await this.settle(this.inquiry.passedOver());
  }

  /** Listed again while that is being published, the machine is one that comes back, and watched on. */
  private async depart(): Promise<void> {
    if (this.observation !== undefined) await this.settle(this.inquiry.departure());
    if (this.hasLeft) this.end();
    else this.context.reasons.forget(this.machineId);
  }

  /** What comes to light once the partition is lost is for its next owner to find. */
  private async settle(finding: Finding): Promise<void> {
    if (this.hasEnded) return;
    await this.memory.settle(this.info, finding.sighting, finding.at);
    this.inquiry.remember(finding);
  }
}
