import { Clock } from './clock.js';

interface Sleeper {
  untilMs: number;
  wake: () => void;
}

/** A clock that stands still until it is told to move: for tests of what depends on time. */
export class ManualClock extends Clock {
  private readonly sleepers = new Set<Sleeper>();

  constructor(private currentMs = 0) {
    super();
  }

  override nowMs(): number {
    return this.currentMs;
  }

  set(epochSeconds: number): void {
    this.currentMs = epochSeconds * 1000;
    for (const sleeper of [...this.sleepers]) {
      if (sleeper.untilMs <= this.currentMs) sleeper.wake();
    }
  }

  advance(seconds: number): void {
    this.set(this.currentMs / 1000 + seconds);
  }

  override sleepUntilSeconds(epochSeconds: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const untilMs = epochSeconds * 1000;
    if (untilMs <= this.currentMs) return Promise.resolve();
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
