import { Clock } from '#libs/clock';

/** Behaviour that the interface leaves open; changed through the control API. */
export class AnswerOptions {
  /** Changes durationInMinutes randomly by up to one minute in each answer. */
  durationJitter = false;
  /** Cuts the first and last entry of an activity log at the edges of the requested window. */
  clipActivityLog = true;
  /** Lifetime of new tokens of the login, in real time; null: without end. */
  tokenLifetimeSeconds: number | null = null;
  /** Seconds by which the service's clock is ahead of the sandbox's; negative: behind. */
  clockOffsetSeconds = 0;
  /** Sends a Date header with each answer, by the service's clock. */
  dateHeader = true;
}

/** The clock of the service, for all checks of times and for Date headers. It may be wrong. */
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
