import { Clock } from './clock.js';

interface Sleeper {
  untilMs: number;
  wake: () => void;
}

/** A clock that tests advance by hand. */
export class ManualClock extends Clock {
  private readonly sleepers = new Set<Sleeper>();
  /** How far the wall clock has been set away from where it would be. */
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
    for (const sleeper of [...this.sleepers]) {
      if (sleeper.untilMs <= this.elapsedMs) sleeper.wake();
    }
  }

  advance(seconds: number): void {
    this.set(this.nowMs() / 1000 + seconds);
  }

  /** Sets the wall clock ahead, or back where `seconds` is negative, without any time passing. */
  shiftWallClock(seconds: number): void {
    this.shiftMs += seconds * 1000;
  }

  override sleepUntilMonotonicMs(untilMs: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (untilMs <= this.elapsedMs) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const sleeper: Sleeper = {
        untilMs,
        wake: () => {
          settle(resolve);
        },
      };
      const onAbort = (): void => {
        settle(() => {
          reject(signal?.reason as Error);
        });
      };
      const settle = (then: () => void): void => {
        this.sleepers.delete(sleeper);
        signal?.removeEventListener('abort', onAbort);
        then();
      };
      this.sleepers.add(sleeper);
      signal?.addEventListener('abort', onAbort);
    });
  }
}
