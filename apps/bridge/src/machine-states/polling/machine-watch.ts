import type { MachineInfo } from '#libs/cloud-client';
import { NO_SPAN, type PollSpan, type TraceContext } from '#libs/tracing';
import { Absence } from '../../machine-directory/index.js';
import { type Derivation, deriveStateChanges } from '../derivation/derive-state-changes.js';
import {
  isWorthStoring,
  type Observation,
  type TrackedMachine,
  withoutTimesAhead,
} from '../derivation/tracked-machine.js';
import { type Finding, MachineInquiry } from './machine-inquiry.js';
import type { Poll, Polled } from './poll-loop.js';
import type { WatchContext } from './watch-context.js';

/**
 * One machine of an owned partition: polls it and publishes what has changed. Kept here are the time of its latest
 * update, which alone is not worth a record in Kafka, and its observation, which is asked for all the time; the rest is
 * read from what is stored whenever it is needed, for there may be a hundred thousand of these.
 */
export class MachineWatch implements Polled {
  /** Of the latest reading, in epoch seconds. */
  updatedAt: number | null;
  /** Undefined until the first answer. */
  observation: Observation | undefined;
  private readonly inquiry: MachineInquiry;
  /** Undefined while it is listed: there may be a hundred thousand of these. */
  private absence: Absence | undefined;
  private hasLeft = false;
  private isOver = false;

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
    this.inquiry = new MachineInquiry(info.machineId, context, signal);
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
    if (this.hasLeft || this.inquiry.isResting) {
      return { failure: undefined, logEntries: 0, conclude: () => this.passOver() };
    }
    const span = this.context.tracing.pollStarts(this.machineId);
    const finding = await this.inquiry.ask(this.tracked, span);
    const { failure, result } = finding;
    const logEntries = result.kind === 'reading' ? (result.log?.entries.length ?? 0) : 0;
    return { failure, logEntries, conclude: () => this.settle(finding, span) };
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

  /**
   * Publishes first and remembers afterwards: what was not committed has not happened. What comes to light once the
   * partition is lost is for its next owner to find.
   */
  private async settle(finding: Finding, span: PollSpan = NO_SPAN): Promise<void> {
    if (this.hasEnded) return;
    const { metrics, settings, mostUnreadPeriods } = this.context;
    const before = this.tracked;
    // when it was seen: while Kafka is away that may be long ago
    const context = { ...settings.polling, ...finding.at, mostUnreadPeriods };
    const derivation = deriveStateChanges(this.info, before, finding.result, context);
    const { events, next } = derivation;
    const isNews = events.length > 0 || isWorthStoring(before, next);
    if (isNews) await this.stored.publish(derivation, span.context);
    this.updatedAt = next.lastUpdateTime;
    this.observation = next.observation;
    for (const { event } of events) metrics.published(event.type);
    this.inquiry.remember(finding);
    span.end(events.length);
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
