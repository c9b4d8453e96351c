import { Logger } from '@nestjs/common';
import { realNowMs } from '#libs/clock';
import { Breaker, type Failure } from '#libs/delivery';

/** Whether a flow gets its commands through, in words for `/health/ready`; logs when that turns. */
export class FlowStatus {
  private readonly logger = new Logger('FlowStatus');
  private callsThatWentWell = 0;
  private onResumed: () => void = () => undefined;

  constructor(
    private readonly flow: string,
    private readonly breaker = new Breaker(),
  ) {}

  /** Why the flow is paused, or undefined while it moves. */
  get pausedBecause(): string | undefined {
    return this.breaker.openBecause;
  }

  /** Grows with each call that was applied. */
  get progress(): number {
    return this.callsThatWentWell;
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

  /** The probe has not been made after all, or was cut off. */
  probeWasVoid(): void {
    this.breaker.probeWasVoid();
  }

  whenResumed(listener: () => void): void {
    this.onResumed = listener;
  }

  /** The service has taken a call, or refused it. */
  succeeded(isApplied: boolean): void {
    if (isApplied) this.callsThatWentWell += 1;
    if (!this.breaker.succeeded()) return;
    this.logger.log({ msg: 'flow moves again', flow: this.flow });
    this.onResumed();
  }

  failed(failure: Failure): void {
    if (!this.breaker.failed(failure, realNowMs())) return;
    const { why, machineId, cause } = failure;
    this.logger.warn({ msg: 'flow paused, probing', flow: this.flow, why, cause, machineId });
  }
}
