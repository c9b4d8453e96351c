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
  private pausing = false;

  constructor(private readonly flow: string) {}

  /** Why the flow stands still, or undefined while it moves. */
  get pausedBecause(): string | undefined {
    if (this.failingSinceMs === undefined) return undefined;
    const stands = this.pausing || realNowMs() - this.failingSinceMs >= STANDSTILL_MS;
    return stands ? this.why : undefined;
  }

  note(verdict: Verdict): void {
    if (verdict.kind !== 'try-again') {
      if (this.failingSinceMs !== undefined) {
        this.logger.log({ msg: 'flow goes on', flow: this.flow });
      }
      this.failingSinceMs = undefined;
      this.pausing = false;
      return;
    }
    if (this.failingSinceMs === undefined) {
      this.logger.warn({ msg: 'flow meets failures', flow: this.flow, why: verdict.why });
    }
    this.failingSinceMs ??= realNowMs();
    this.why = verdict.why;
    this.pausing = verdict.pausesFlow;
  }
}
