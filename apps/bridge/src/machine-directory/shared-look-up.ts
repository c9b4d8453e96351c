import { realDelayMs, realNowMs } from '#libs/clock';

/** At most one look-up in this time, however many messages name what is not known. */
export const MIN_GAP_MS = 2000;

/**
 * One question asked on behalf of many. Whoever asks gets the answer to a look-up that started after
 * it asked; until that look-up starts, everybody else who asks shares it. Look-ups never overlap, so an
 * older answer cannot overwrite a newer one.
 */
export class SharedLookUp<T> {
  private upcoming: Promise<T> | undefined;
  private running: Promise<unknown> = Promise.resolve();
  private earliestMs = -Infinity;

  constructor(
    private readonly lookUp: () => Promise<T>,
    private readonly signal: AbortSignal,
    private readonly minGapMs = MIN_GAP_MS,
  ) {}

  /** Rejects with the reason of the constructor's signal when that aborts first. */
  ask(): Promise<T> {
    if (this.upcoming === undefined) {
      this.upcoming = this.runNext();
      // Everybody who asked may have gone away by the time it fails.
      this.upcoming.catch(() => undefined);
    }
    return this.upcoming;
  }

  private async runNext(): Promise<T> {
    await this.running;
    await realDelayMs(Math.max(0, this.earliestMs - realNowMs()), this.signal);
    this.earliestMs = realNowMs() + this.minGapMs;
    this.upcoming = undefined;
    const run = this.lookUp();
    this.running = run.catch(() => undefined);
    return run;
  }
}
