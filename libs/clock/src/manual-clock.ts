import { abortable, Clock } from './clock.js';

/** A clock that tests advance by hand. */
export class ManualClock extends Clock {
  /** End of each sleep, by the function that ends it. */
  private readonly sleepers = new Map<() => void, number>();
  /** Difference of the wall clock from the elapsed time. */
  private shiftMs = 0;

  constructor(private elapsedMs = 0) {
    super();
  }

  override nowMs(): number {
    return this.elapsedMs + this.shiftMs;
  }

  override monotonicMs(): number {
    return this.elapsedMs;
  }

  /** Lets time pass until the clock shows `epochSeconds`. */
  set(epochSeconds: number): void {
    this.elapsedMs = epochSeconds * 1000 - this.shiftMs;
    for (const [wake, untilMs] of this.sleepers) if (untilMs <= this.elapsedMs) wake();
  }

  advance(seconds: number): void {
    this.set(this.nowMs() / 1000 + seconds);
  }

  /** Sets the wall clock ahead, or back for negative `seconds`, without any time passing. */
  shiftWallClock(seconds: number): void {
    this.shiftMs += seconds * 1000;
  }

  override async sleepUntilMonotonicMs(untilMs: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (untilMs <= this.elapsedMs) return;
    let wake = (): void => undefined;
    const woken = new Promise<void>((resolve) => (wake = resolve));
    this.sleepers.set(wake, untilMs);
    try {
      await (signal === undefined ? woken : abortable(woken, signal));
    } finally {
      this.sleepers.delete(wake);
    }
  }
}
