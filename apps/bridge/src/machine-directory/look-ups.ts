import { realDelayMs, realNowMs } from '#libs/clock';
import type { HttpAnswer } from '#libs/cloud-client';
import { BoundedMap } from '../platform/index.js';
import type { LookUpFailure } from './directory-answer.js';

/** At most one look-up in this time, however many messages name what is not known. */
export const MIN_GAP_MS = 2000;

type Retry = Extract<HttpAnswer<never>, { kind: 'retry' }>;

/**
 * One question asked on behalf of many. Whoever asks gets the answer to a look-up that started after
 * it asked; until that look-up starts, everybody else who asks shares it. Look-ups never overlap, so an
 * older answer cannot overwrite a newer one. While the service asks to be left alone (`Retry-After`) that
 * is everybody's answer, at once, with the time that is left.
 */
export class SharedLookUp<T> {
  private upcoming: Promise<HttpAnswer<T>> | undefined;
  private running: Promise<unknown> = Promise.resolve();
  private earliestMs = -Infinity;
  private backOff: { answer: Retry; untilMs: number } | undefined;

  constructor(
    private readonly lookUp: () => Promise<HttpAnswer<T>>,
    private readonly signal: AbortSignal,
    private readonly minGapMs = MIN_GAP_MS,
  ) {}

  /** Whether the service has asked to be left alone, for some time yet. */
  get isBackingOff(): boolean {
    return this.answerMeanwhile() !== undefined;
  }

  /** Rejects with the reason of the constructor's signal when that aborts first. */
  request(): Promise<HttpAnswer<T>> {
    if (this.upcoming === undefined) {
      this.upcoming = this.runNext();
      // Everybody who asked may have gone away by the time it fails.
      this.upcoming.catch(() => undefined);
    }
    return this.upcoming;
  }

  private async runNext(): Promise<HttpAnswer<T>> {
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

  private noteRetryAfter(answer: HttpAnswer<T>): HttpAnswer<T> {
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

/** How long a failed look-up stands: long where the token may not ask, short where the service is away. */
const FAILURE_MS = { unverifiable: 10_000, unavailable: 1000 };

/** What the latest look-ups missed: spares a repeated unknown name the wait, and answers no new name as unknown. */
export class RecentMisses {
  private readonly unknownUntilMs: BoundedMap<string, number>;
  private latest: { failure: LookUpFailure; untilMs: number } | undefined;

  /** @param capacity names remembered; messages may carry any number of wrong ones */
  constructor(capacity: number) {
    this.unknownUntilMs = new BoundedMap(capacity);
  }

  answerTo(name: string): 'unknown' | LookUpFailure | undefined {
    const nowMs = realNowMs();
    if (nowMs < (this.unknownUntilMs.get(name) ?? -Infinity)) return 'unknown';
    const { latest } = this;
    return latest !== undefined && nowMs < latest.untilMs ? latest.failure : undefined;
  }

  /** A look-up succeeded and did not find this name, which stays unknown until the next may be made. */
  missed(name: string): void {
    this.unknownUntilMs.set(name, realNowMs() + MIN_GAP_MS);
  }

  /** A look-up succeeded, whoever asked for it: the names it did not find are missing still. */
  found(names: { has(name: string): boolean }): void {
    this.latest = undefined;
    const untilMs = realNowMs() + MIN_GAP_MS;
    for (const name of [...this.unknownUntilMs.keys()]) {
      if (names.has(name)) this.unknownUntilMs.delete(name);
      else this.unknownUntilMs.set(name, untilMs);
    }
  }

  failed(failure: LookUpFailure): void {
    const forMs = FAILURE_MS[typeof failure === 'string' ? failure : failure.kind];
    this.latest = { failure, untilMs: realNowMs() + forMs };
  }
}

/**
 * Whether something that a list should name is gone. That may be left out once by mistake, and a gateway may answer
 * with an empty list; it is gone when another list does not name it either, not before the next is due: a command for a
 * machine that is not listed has the list read at any time.
 */
export class Absence {
  /** When the first list in a row did not name it, in monotonic milliseconds; null when the latest did. */
  private sinceMs: number | null = null;

  /** @param refreshSeconds after which a list is read again */
  constructor(private readonly refreshSeconds: number) {}

  /** The latest list names it. */
  end(): void {
    this.sinceMs = null;
  }

  /** The latest list does not name it; returns whether it is gone. */
  isLasting(nowMs: number): boolean {
    this.sinceMs ??= nowMs;
    return nowMs - this.sinceMs >= this.refreshSeconds * 1000;
  }
}
