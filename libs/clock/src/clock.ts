import { realDelayMs, realNowMs } from './real-time.js';

export interface ClockOptions {
  /** Clock seconds per real second; 1 is real time. */
  speed?: number;
  /** Epoch seconds at which the accelerated clock and the real one agreed. */
  originSeconds?: number;
}

/** setTimeout overflows above 2^31 - 1 ms; longer sleeps consist of several. */
const LONGEST_TIMER_MS = 2_000_000_000;

/** The time of the plant: real, or accelerated as `now = origin + (real - origin) * speed`. */
export class Clock {
  readonly speed: number;
  private readonly originMs: number;

  constructor(options: ClockOptions = {}) {
    this.speed = options.speed ?? 1;
    this.originMs = (options.originSeconds ?? 0) * 1000;
  }

  /** Epoch milliseconds. */
  nowMs(): number {
    return this.atMs(Date.now());
  }

  /** The plant's time at a real one, both in epoch milliseconds. */
  atMs(epochMs: number): number {
    return this.speed === 1 ? epochMs : this.originMs + (epochMs - this.originMs) * this.speed;
  }

  /** Epoch seconds, rounded down. */
  nowSeconds(): number {
    return Math.floor(this.nowMs() / 1000);
  }

  /**
   * Milliseconds at this clock's speed since an arbitrary time. They only increase, even if the wall clock is set:
   * for spans, turns and waits.
   */
  monotonicMs(): number {
    return realNowMs() * this.speed;
  }

  /** {@link monotonicMs} in real milliseconds. */
  get realMs(): number {
    return this.monotonicMs() / this.speed;
  }

  /** Sleeps for seconds of this clock; rejects with `signal.reason` when aborted. */
  async sleepSeconds(seconds: number, signal?: AbortSignal): Promise<void> {
    await this.sleepUntilMonotonicMs(this.monotonicMs() + seconds * 1000, signal);
  }

  /** Sleeps until {@link monotonicMs} is `untilMs`; returns at once when it has passed. */
  async sleepUntilMonotonicMs(untilMs: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    for (;;) {
      const remainingMs = (untilMs - this.monotonicMs()) / this.speed;
      if (remainingMs <= 0) return;
      await realDelayMs(Math.min(Math.ceil(remainingMs), LONGEST_TIMER_MS), signal);
    }
  }
}
