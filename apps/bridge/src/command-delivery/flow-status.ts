import { Logger } from '@nestjs/common';
import { realNowMs } from '#libs/clock';
import { type Verdict } from '#libs/delivery';

/** With nothing but failures for this long, the flow counts as standing still rather than as retrying. */
const STANDSTILL_MS = 5000;

/** Whether a flow gets its commands through, in words for `/health/ready`; logs when that turns. */
export class FlowStatus {
  private readonly logger = new Logger('FlowStatus');
  private failingSinceMs: number | undefined;
  private why = '';
  private isTokenRefused = false;
  private isStandstillLogged = false;
  private callsThatWentWell = 0;

  constructor(private readonly flow: string) {}

  /** Why the flow stands still, or undefined while it moves. */
  get pausedBecause(): string | undefined {
    if (this.failingSinceMs === undefined) return undefined;
    const stands = this.isTokenRefused || realNowMs() - this.failingSinceMs >= STANDSTILL_MS;
    return stands ? this.why : undefined;
  }

  /** Grows with each call that the service has answered without refusing the token. */
  get progress(): number {
    return this.callsThatWentWell;
  }

  note(verdict: Verdict): void {
    if (verdict.kind === 'try-again') this.failed(verdict.why, verdict.cause !== 'service');
    else this.moved();
  }

  private failed(why: string, isTokenRefused: boolean): void {
    // One failure says little while other machines' commands get through: it takes two in a row.
    const isRepeated = this.failingSinceMs !== undefined;
    this.failingSinceMs ??= realNowMs();
    this.why = why;
    this.isTokenRefused = isTokenRefused;
    if (!isRepeated || this.isStandstillLogged || this.pausedBecause === undefined) return;
    this.isStandstillLogged = true;
    this.logger.warn({ msg: 'flow stands still', flow: this.flow, why });
  }

  private moved(): void {
    this.callsThatWentWell += 1;
    this.failingSinceMs = undefined;
    this.isTokenRefused = false;
    if (!this.isStandstillLogged) return;
    this.isStandstillLogged = false;
    this.logger.log({ msg: 'flow moves again', flow: this.flow });
  }
}
