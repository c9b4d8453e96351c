import { realDelayMs, realNowMs } from '#libs/clock';
import type { CloudAnswer } from '#libs/cloud-client';

/** At most one look-up in this time, however many messages name what is not known. */
export const MIN_GAP_MS = 2000;

type Retry = Extract<CloudAnswer<never>, { kind: 'retry' }>;

/**
 * One question asked on behalf of many. Whoever asks gets the answer to a look-up that started after
 * it asked; until that look-up starts, everybody else who asks shares it. Look-ups never overlap, so an
 * older answer cannot overwrite a newer one. While the service asks to be left alone (`Retry-After`) that
 * is everybody's answer, at once, with the time that is left.
 */
export class SharedLookUp<T> {
  private upcoming: Promise<CloudAnswer<T>> | undefined;
  private running: Promise<unknown> = Promise.resolve();
  private earliestMs = -Infinity;
  private backOff: { answer: Retry; untilMs: number } | undefined;

  constructor(
    private readonly lookUp: () => Promise<CloudAnswer<T>>,
    private readonly signal: AbortSignal,
    private readonly minGapMs = MIN_GAP_MS,
  ) {}

  /** Whether the service has asked to be left alone, for some time yet. */
  get isBackingOff(): boolean {
    return this.answerMeanwhile() !== undefined;
  }

  /** Rejects with the reason of the constructor's signal when that aborts first. */
  ask(): Promise<CloudAnswer<T>> {
    if (this.upcoming === undefined) {
      this.upcoming = this.runNext();
      // Everybody who asked may have gone away by the time it fails.
      this.upcoming.catch(() => undefined);
    }
    return this.upcoming;
  }

  private async runNext(): Promise<CloudAnswer<T>> {
    await this.running;
    // Those who came while the last one was under way must not wait unheard for as long as its answer asks.
    const meanwhile = this.answerMeanwhile();
    if (meanwhile !== undefined) {
      this.upcoming = undefined;
      return meanwhile;
    }
    const waitMs = this.earliestMs - realNowMs();
    // Who waits listens to the signal: each of thousands that begin at once would be compared with all before it.
    if (waitMs > 0) await realDelayMs(waitMs, this.signal);
    this.signal.throwIfAborted();
    this.earliestMs = realNowMs() + this.minGapMs;
    this.upcoming = undefined;
    const run = this.lookUp().then((answer) => this.noteRetryAfter(answer));
    this.running = run.catch(() => undefined);
    return run;
  }

  private noteRetryAfter(answer: CloudAnswer<T>): CloudAnswer<T> {
    const afterMs = answer.kind === 'retry' ? (answer.afterMs ?? 0) : 0;
    const isBackingOff = answer.kind === 'retry' && afterMs > 0;
    this.backOff = isBackingOff ? { answer, untilMs: realNowMs() + afterMs } : undefined;
    return answer;
  }

  private answerMeanwhile(): Retry | undefined {
    if (this.backOff === undefined) return undefined;
    const { answer, untilMs } = this.backOff;
    const leftMs = Math.ceil(untilMs - realNowMs());
    return leftMs > 0 ? { ...answer, afterMs: leftMs } : undefined;
  }
}
