import { setMaxListeners } from 'node:events';
import { type GenericAbortSignal } from 'axios';
import { afterRealMs } from '#libs/clock';

export const TIMED_OUT = Symbol('timed out');

/** The end of one call. As much of an AbortSignal as a request needs: a real one costs as much as the request. */
export class CallEnd implements GenericAbortSignal {
  private hasCome = false;
  private readonly listeners = new Set<() => void>();

  get aborted(): boolean {
    return this.hasCome;
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.listeners.add(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.listeners.delete(listener);
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
 * @throws the reason of `caller` once that is aborted, whatever `work` came to
 */
export function withDeadline<T>(
  timeoutMs: number,
  caller: AbortSignal | undefined,
  work: (end: CallEnd) => Promise<T>,
): Promise<T | typeof TIMED_OUT> {
  return new Promise((resolve, reject) => {
    const end = new CallEnd();
    const settle = (result: T | typeof TIMED_OUT): void => {
      stopTimer();
      caller?.removeEventListener('abort', giveUp);
      if (caller?.aborted === true) reject(caller.reason as Error);
      else resolve(result);
    };
    const giveUp = (): void => {
      settle(TIMED_OUT);
      end.come();
    };
    const stopTimer = afterRealMs(timeoutMs, giveUp);
    if (caller?.aborted === true) {
      giveUp();
      return;
    }
    // As many calls as are under way may share a signal; that is no leak.
    if (caller !== undefined) setMaxListeners(0, caller);
    caller?.addEventListener('abort', giveUp);
    work(end).then(settle, (error: unknown) => {
      stopTimer();
      caller?.removeEventListener('abort', giveUp);
      reject(error instanceof Error ? error : new Error(String(error)));
    });
  });
}
