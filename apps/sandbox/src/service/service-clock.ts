import { Clock } from '#libs/clock';
import type { AnswerOptions } from './answer-options.js';

/** The clock of the service, by which it judges times and dates its answers. It may be set wrong. */
export class ServiceClock extends Clock {
  constructor(
    private readonly base: Clock,
    private readonly options: AnswerOptions,
  ) {
    super({ speed: base.speed });
  }

  override nowMs(): number {
    return this.base.nowMs() + this.options.clockOffsetSeconds * 1000;
  }
}
