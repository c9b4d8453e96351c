import type { MachineInfo } from '#libs/cloud-client';
import { NO_SPAN, type PollSpan, type TraceContext } from '#libs/tracing';
import { Absence } from '../../machine-directory/index.js';
import {
  isWorthStoring,
  type Observation,
  type TrackedMachine,
} from '../derivation/tracked-machine.js';
import {
  type Derivation,
  deriveStateChanges,
  type PollResult,
} from '../derivation/derive-state-changes.js';
import { withoutTimesAhead } from '../derivation/times-ahead.js';
import { type Finding, MachineInquiry, type PollTime } from './machine-inquiry.js';
import type { Poll, Polled } from './poll-loop.js';
import type { WatchContext } from './watch-context.js';

/** One machine of an owned partition: polls it and publishes what has changed. */
export class MachineWatch implements Polled {
  private readonly memory: MachineMemory;
  private readonly inquiry: MachineInquiry;
  /** Undefined while it is listed: there may be a hundred thousand of these. */
  private absence: Absence | undefined;
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
    this.absence = undefined;
    this.hasLeft = false;
  }

  /** The directory does not list it. */
  miss(): void {
    const { clock, settings } = this.context;
    this.absence ??= new Absence(settings.directoryRefreshSeconds);
    if (this.absence.isLasting(clock.monotonicMs())) this.leave();
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
    const span = this.context.tracing.pollStarts(this.machineId);
    const finding = await this.inquiry.ask(this.tracked, span);
    const { failure, restMs } = finding;
    return { failure, restMs, conclude: () => this.settle(finding, span) };
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
  private async settle(finding: Finding, span: PollSpan = NO_SPAN): Promise<void> {
    if (this.hasEnded) return;
    const { result, at } = finding;
    const events = await this.memory.settle(this.info, result, at, span.context);
    this.inquiry.remember(finding);
    span.end(events);
  }
}

/** The machines of one partition as Kafka has them. */
export interface StoredMachines {
  get(machineId: string): TrackedMachine | undefined;
  /**
   * Resolves once Kafka has it; {@link get} shows it from then on.
   *
   * @param trace that the events belong to
   */
  publish(derivation: Derivation, trace: TraceContext | undefined): Promise<void>;
}

/**
 * What is remembered of one machine. Kept here are the time of its latest update, which alone is not worth a
 * record in Kafka, and its observation, which is asked for all the time; the rest is read from what is stored
 * whenever it is needed, for there may be a hundred thousand of these.
 */
export class MachineMemory {
  private lastUpdateTime: number | null;
  private latestObservation: Observation | undefined;

  constructor(
    private readonly machineId: string,
    private readonly stored: StoredMachines,
    private readonly context: WatchContext,
  ) {
    const remembered = stored.get(machineId);
    this.lastUpdateTime = remembered?.lastUpdateTime ?? null;
    this.latestObservation = remembered?.observation;
  }

  /** Undefined until the first answer. */
  get tracked(): TrackedMachine | undefined {
    const stored = this.stored.get(this.machineId);
    if (stored === undefined) return undefined;
    const { lastUpdateTime } = this;
    return withoutTimesAhead({ ...stored, lastUpdateTime }, this.context.latestSeconds);
  }

  /** Of the latest reading, in epoch seconds. */
  get updatedAt(): number | null {
    return this.lastUpdateTime;
  }

  /** Undefined until the first answer. */
  get observation(): Observation | undefined {
    return this.latestObservation;
  }

  /**
   * Publishes first and remembers afterwards: what was not committed has not happened.
   *
   * @param at when it was seen: while Kafka is away that may be long ago
   * @returns how many events were published
   */
  async settle(
    info: MachineInfo,
    result: PollResult,
    at: PollTime,
    trace?: TraceContext,
  ): Promise<number> {
    const { metrics, settings, mostUnreadPeriods } = this.context;
    const before = this.tracked;
    const context = { ...settings.polling, ...at, mostUnreadPeriods };
    const derivation = deriveStateChanges(info, before, result, context);
    const { events, next } = derivation;
    const isNews = events.length > 0 || isWorthStoring(before, next);
    if (isNews) await this.stored.publish(derivation, trace);
    this.lastUpdateTime = next.lastUpdateTime;
    this.latestObservation = next.observation;
    for (const { event } of events) metrics.published(event.type);
    return events.length;
  }
}
