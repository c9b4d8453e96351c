import { Logger } from '@nestjs/common';
import { everyRealMs, realNowMs } from '#libs/clock';
import { Breaker, type CallFailure } from '#libs/delivery';

/** What is known of a flow's calls at the moment. */
export interface FlowCalls {
  /** The number of the latest call to have begun. */
  readonly latestBegun: number;
  /** When the latest call that has gone well began, in real milliseconds; -Infinity while none has. */
  readonly latestAppliedMs: number;
  /** The same of the latest that was for this machine, alone or with others; of the last minute. */
  latestAppliedMsOf(machineId: string): number;
  /** Whether a call for another machine, by itself, was answered 403 since then. */
  wasAnotherForbidden(machineId: string, sinceMs: number): boolean;
}

/** A call that has begun, and what was known by then. Numbers count the flow's calls in the order in which they begin. */
export interface StartedCall {
  readonly number: number;
  /** The highest number of a call that had gone well by then; 0 when none had. */
  readonly latestApplied: number;
  /** Real milliseconds. */
  readonly startedMs: number;
}

const REVIEW_MS = 1000;

/** Whether a flow gets its commands through, in words for `/health/ready`; logs when that turns. */
export class FlowStatus implements FlowCalls {
  private readonly logger = new Logger('FlowStatus');
  private begun = 0;
  private underWay = 0;
  private stopReviews: (() => void) | undefined;
  private latestApplied = 0;
  /** When it began. */
  latestAppliedMs = -Infinity;
  private readonly applied = new LatestApplied();
  /** The machine that was answered 403 last, in a call of its own, and when; and when another before it was. */
  private latestForbidden = { machineId: '', atMs: -Infinity };
  private otherForbiddenMs = -Infinity;
  private onResumed: () => void = () => undefined;
  private isStuck: () => boolean = () => false;

  constructor(
    private readonly flow: string,
    private readonly breaker = new Breaker(),
  ) {}

  /** Why the flow is paused, or undefined while it moves. */
  get pausedBecause(): string | undefined {
    return this.breaker.openBecause;
  }

  /** The number of the latest call to have begun. */
  get latestBegun(): number {
    return this.begun;
  }

  get isPaused(): boolean {
    return this.breaker.openBecause !== undefined;
  }

  /** Real milliseconds at which the paused flow may try a call; undefined while it moves, or tries one. */
  get nextProbeMs(): number | undefined {
    return this.breaker.nextProbeMs;
  }

  /** Whether a call may begin. */
  admits(): boolean {
    // Asked several times a call: what time it is matters only to a flow that is paused.
    return !this.isPaused || this.breaker.admits(realNowMs());
  }

  /** Returns whether the call is a probe of a paused flow. */
  callBegins(): boolean {
    return this.breaker.callBegins();
  }

  /** Numbers a call that is about to be made; {@link callEnded} follows. */
  callStarts(): StartedCall {
    this.begun += 1;
    this.underWay += 1;
    return { number: this.begun, latestApplied: this.latestApplied, startedMs: realNowMs() };
  }

  /** However it has ended. */
  callEnded(): void {
    this.underWay -= 1;
  }

  /** The probe has not been made after all, or was cut off. */
  probeWasVoid(): void {
    this.breaker.probeWasVoid();
  }

  whenResumed(listener: () => void): void {
    this.onResumed = listener;
  }

  /** @param isStuck whether there is something that has failed, and nothing that may be sent now */
  reviewWhile(isStuck: () => boolean): void {
    this.isStuck = isStuck;
  }

  /** A call for one machine alone was answered 403. */
  forbidden(machineId: string): void {
    const { latestForbidden } = this;
    const atMs = realNowMs();
    if (machineId !== latestForbidden.machineId) this.otherForbiddenMs = latestForbidden.atMs;
    this.latestForbidden = { machineId, atMs };
  }

  wasAnotherForbidden(machineId: string, sinceMs: number): boolean {
    const { latestForbidden, otherForbiddenMs } = this;
    const isAnother = latestForbidden.machineId !== machineId;
    return (isAnother ? latestForbidden.atMs : otherForbiddenMs) >= sinceMs;
  }

  latestAppliedMsOf(machineId: string): number {
    return this.applied.startedMsOf(machineId);
  }

  /** The service has taken a call, or refused it. */
  succeeded(
    { number, startedMs }: StartedCall,
    isApplied: boolean,
    commands: readonly { machineId: string }[],
  ): void {
    if (isApplied) this.applied.note(commands, startedMs);
    if (isApplied && number > this.latestApplied) {
      this.latestApplied = number;
      this.latestAppliedMs = startedMs;
    }
    if (!this.breaker.succeeded(startedMs)) return;
    this.logger.log({ msg: 'flow moves again', flow: this.flow });
    this.onResumed();
  }

  failed(failure: CallFailure): void {
    this.stopReviews ??= everyRealMs(REVIEW_MS, () => {
      this.review();
    });
    if (!this.breaker.failed(failure, realNowMs())) return;
    const { why, machineId, cause } = failure;
    this.logger.warn({ msg: 'flow paused, probing', flow: this.flow, why, cause, machineId });
  }

  /** Asked now and then while something has failed: what waits for as long as it was asked to fails no more. */
  private review(): void {
    const nothingMoves = this.underWay === 0 && this.isStuck();
    if (nothingMoves && this.breaker.review(realNowMs())) {
      const { flow, pausedBecause: why } = this;
      this.logger.warn({ msg: 'flow paused, probing', flow, why });
    }
    if (this.breaker.isInDoubt) return;
    this.stopReviews?.();
    this.stopReviews = undefined;
  }
}

/** Longer than a call can take, and what is asked about lies before it. */
const REMEMBERED_MS = 60_000;

/**
 * When the latest calls that went well began, by machine: of the last minute or two, so that it is bounded by their
 * number. In two generations, for every call passes here: the older is forgotten when the newer is a minute old.
 */
class LatestApplied {
  private newer = new Map<string, number>();
  private older = new Map<string, number>();
  private begunMs = -Infinity;

  note(commands: readonly { machineId: string }[], startedMs: number): void {
    if (startedMs >= this.begunMs + REMEMBERED_MS) this.beginAnother(startedMs);
    for (const { machineId } of commands) this.newer.set(machineId, startedMs);
  }

  /** -Infinity if none is remembered. */
  startedMsOf(machineId: string): number {
    return this.newer.get(machineId) ?? this.older.get(machineId) ?? -Infinity;
  }

  private beginAnother(startedMs: number): void {
    this.older = this.newer;
    this.newer = new Map();
    this.begunMs = startedMs;
  }
}
