import { realDelayMs, realNowMs } from '#libs/clock';
import { describeUnauthorised, type HttpAnswer } from '#libs/cloud-client';
import type { Rejection } from '#libs/contracts';
import { BoundedMap } from '../platform/index.js';

/** `unverifiable`: the token may not read the list, or the answer is malformed; the service decides at the call. */
export type DirectoryAnswer = 'known' | 'unknown' | LookUpFailure;

type LookUpFailure = 'unverifiable' | Unavailable;

/** The service does not answer at present. `afterMs` is its `Retry-After` in real time; null without one. */
interface Unavailable {
  kind: 'unavailable';
  why: string;
  afterMs: number | null;
}

export type MachineAdmission =
  { kind: 'go' } | { kind: 'rejected'; rejection: Rejection } | Unavailable;

/** An answer of the service without a result: neither data nor `noData`. */
export type FailedAnswer = Exclude<HttpAnswer<unknown>, { kind: 'data' | 'noData' }>;

/** One sentence for operators on why an answer holds no data. */
export function describeFailure(answer: FailedAnswer): string {
  switch (answer.kind) {
    case 'rejected':
      return `refused with status ${answer.status}: ${answer.detail}`;
    case 'retry':
      return answer.error.message;
    case 'unauthorised':
      return describeUnauthorised(answer);
    default:
      return answer satisfies never;
  }
}

/** Statuses of a path that does not serve the request: they will not change soon. */
const NOT_SERVED: readonly (number | undefined)[] = [405, 410, 414, 431];

export function isFailure(answer: HttpAnswer<unknown>): answer is FailedAnswer {
  return answer.kind !== 'data' && answer.kind !== 'noData';
}

/** Result of a failed look-up for its callers. */
export function lookUpFailure(answer: FailedAnswer): LookUpFailure {
  switch (answer.kind) {
    case 'rejected':
    case 'unauthorised':
      return 'unverifiable';
    case 'retry': {
      const { afterMs, error } = answer;
      // A malformed answer will not become readable soon: no command should wait for that.
      if (error.code === 'malformed-answer' || NOT_SERVED.includes(error.status))
        return 'unverifiable';
      return { kind: 'unavailable', why: error.message, afterMs };
    }
    default:
      return answer satisfies never;
  }
}

/** Minimum time between look-ups, however many messages have unknown names. */
export const LOOK_UP_GAP_MS = 2000;

type Retry = Extract<HttpAnswer<never>, { kind: 'retry' }>;

/**
 * A look-up on behalf of many callers. A caller gets the answer to a look-up that began after its request; until that
 * begins, further callers share it. Look-ups never overlap, so that an older answer cannot replace a newer one. While
 * the service's `Retry-After` lasts, callers get that answer at once, with the remaining time.
 */
export class SharedLookUp<T> {
  private upcoming: Promise<HttpAnswer<T>> | undefined;
  private running: Promise<unknown> = Promise.resolve();
  private earliestMs = -Infinity;
  private backOff: { answer: Retry; untilMs: number } | undefined;

  constructor(
    private readonly lookUp: () => Promise<HttpAnswer<T>>,
    private readonly signal: AbortSignal,
    private readonly minGapMs = LOOK_UP_GAP_MS,
  ) {}

  /** Whether the `Retry-After` of the latest answer still lasts. */
  get isBackingOff(): boolean {
    return this.answerDuringRetryAfter() !== undefined;
  }

  /** Rejects with the reason of the constructor's signal when that aborts first. */
  requestLookUp(): Promise<HttpAnswer<T>> {
    if (this.upcoming === undefined) {
      this.upcoming = this.runNext();
      // When it fails, all its callers may have given up.
      this.upcoming.catch(() => undefined);
    }
    return this.upcoming;
  }

  private async runNext(): Promise<HttpAnswer<T>> {
    await this.running;
    // Callers that came during the previous look-up get its `Retry-After` at once.
    const meanwhile = this.answerDuringRetryAfter();
    if (meanwhile !== undefined) {
      this.upcoming = undefined;
      return meanwhile;
    }
    const waitMs = this.earliestMs - realNowMs();
    // Only a wait adds a listener: each of thousands that begin at once would be compared with all before it.
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

  private answerDuringRetryAfter(): Retry | undefined {
    if (this.backOff === undefined) return undefined;
    const { answer, untilMs } = this.backOff;
    const leftMs = Math.ceil(untilMs - realNowMs());
    return leftMs > 0 ? { ...answer, afterMs: leftMs } : undefined;
  }
}

/** How long a failure answers later calls: long if the token lacks a right, short if the service is unavailable. */
const FAILURE_MS = { unverifiable: 10_000, unavailable: 1000 };

/** Names that recent look-ups missed: a repeated unknown name is answered at once, a new one never as unknown. */
export class RecentMisses {
  private readonly unknownUntilMs: BoundedMap<string, number>;
  private latest: { failure: LookUpFailure; untilMs: number } | undefined;

  /** @param capacity maximum of names kept; messages may contain any number of wrong ones */
  constructor(capacity: number) {
    this.unknownUntilMs = new BoundedMap(capacity);
  }

  answerTo(name: string): 'unknown' | LookUpFailure | undefined {
    const nowMs = realNowMs();
    if (nowMs < (this.unknownUntilMs.get(name) ?? -Infinity)) return 'unknown';
    const { latest } = this;
    return latest !== undefined && nowMs < latest.untilMs ? latest.failure : undefined;
  }

  /** Records that a look-up did not find this name: it is unknown until the next may be made. */
  recordMissed(name: string): void {
    this.unknownUntilMs.set(name, realNowMs() + LOOK_UP_GAP_MS);
  }

  /** Records a successful look-up: missed names that it did not find stay unknown. */
  recordFound(names: { has(name: string): boolean }): void {
    this.latest = undefined;
    const untilMs = realNowMs() + LOOK_UP_GAP_MS;
    for (const name of [...this.unknownUntilMs.keys()]) {
      if (names.has(name)) this.unknownUntilMs.delete(name);
      else this.unknownUntilMs.set(name, untilMs);
    }
  }

  recordFailure(failure: LookUpFailure): void {
    const forMs = FAILURE_MS[typeof failure === 'string' ? failure : failure.kind];
    this.latest = { failure, untilMs: realNowMs() + forMs };
  }
}

/**
 * Decides whether an entry that a list lacks is gone. A list may lack it once by mistake, and a gateway may answer
 * with an empty one. The entry is gone if a list lacks it that is read at least one refresh interval after the first:
 * for commands, the list is read at any time.
 */
export class Absence {
  /** When the first list in a row lacked it, in monotonic milliseconds; null if the latest had it. */
  private sinceMs: number | null = null;

  /** @param refreshSeconds interval in which the list is read */
  constructor(private readonly refreshSeconds: number) {}

  /** Records that the latest list has it. */
  endAbsence(): void {
    this.sinceMs = null;
  }

  /** Records that the latest list lacks it; returns whether it is gone. */
  recordAbsence(nowMs: number): boolean {
    this.sinceMs ??= nowMs;
    return nowMs - this.sinceMs >= this.refreshSeconds * 1000;
  }
}
