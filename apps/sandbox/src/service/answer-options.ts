import { Clock } from '#libs/clock';

/** Where the interface leaves room, how the service is to answer; changed through the control API. */
export class AnswerOptions {
  /** Lets durationInMinutes be off by one minute either way from answer to answer. */
  durationJitter = false;
  /** Cuts the first and last entry of an activity log at the edges of the window asked for. */
  clipActivityLog = true;
  /** How long a token lives that the login hands out from now on, in real time; null: for good. */
  tokenLifetimeSeconds: number | null = null;
  /** How far the service's clock is ahead of the sandbox's (negative: behind), in its seconds. */
  clockOffsetSeconds = 0;
  /** Sends a Date header with each answer, by the service's clock. */
  dateHeader = true;
}

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
