import { setMaxListeners } from 'node:events';
import { type GenericAbortSignal } from 'axios';
import { afterRealMs } from '#libs/clock';
import { type Caller } from './caller.js';

export const TIMED_OUT = Symbol('timed out');

/** The end of one call. As much of an AbortSignal as a request needs: a real one costs as much as the request. */
export class CallEnd implements GenericAbortSignal {
  private hasCome = false;
  private readonly listeners = new Set<() => void>();
  private objected: Error | undefined;

  constructor(private readonly objection: Caller['objection']) {}

  get aborted(): boolean {
    return this.hasCome;
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.listeners.add(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.listeners.delete(listener);
  }

  /** Asks the caller; to be called right before the request is written. */
  maySend(): boolean {
    if (!this.hasCome) this.objected = this.objection?.();
    return !this.hasCome && this.objected === undefined;
  }

  /** Why the request was not sent; undefined when its caller had no objection. */
  get whyNotSent(): Error | undefined {
    return this.objected;
  }

  come(): void {
    this.hasCome = true;
    for (const listener of this.listeners) listener();
  }
}

/**
 * Tells `work` when the caller's signal aborts or `timeoutMs` have passed, and does not wait for work
 * that ignores it (a request queued behind a connection that is still opening does).
 *
 * @throws the reason of the caller's signal once that is aborted, or the caller's objection, whatever
 *   `work` came to
 */
export function withDeadline<T>(
  timeoutMs: number,
  caller: Caller | undefined,
  work: (end: CallEnd) => Promise<T>,
): Promise<T | typeof TIMED_OUT> {
  return new Promise((resolve, reject) => {
    const signal = caller?.signal;
    const end = new CallEnd(caller?.objection);
    const settle = (result: T | typeof TIMED_OUT): void => {
      stopTimer();
      signal?.removeEventListener('abort', giveUp);
      if (signal?.aborted === true) reject(signal.reason as Error);
      else if (end.whyNotSent !== undefined) reject(end.whyNotSent);
      else resolve(result);
    };
    const giveUp = (): void => {
      settle(TIMED_OUT);
      end.come();
    };
    const stopTimer = afterRealMs(timeoutMs, giveUp);
    if (signal?.aborted === true) {
      giveUp();
      return;
    }
    // As many calls as are under way may share a signal; that is no leak.
    if (signal !== undefined) setMaxListeners(0, signal);
    signal?.addEventListener('abort', giveUp);
    work(end).then(settle, (error: unknown) => {
      stopTimer();
      signal?.removeEventListener('abort', giveUp);
      reject(error instanceof Error ? error : new Error(String(error)));
    });
  });
}
