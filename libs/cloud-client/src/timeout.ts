import { afterRealMs, onAbort } from '#libs/clock';
import { type Caller } from './caller.js';
import { type ServiceReply } from './exchange.js';

export const TIMED_OUT = Symbol('timed out');

/** The end of one call: what a request needs of an AbortSignal, which itself costs as much as the request. */
export class CallEnd {
  /** The answer as far as it is there, once its status is: the end may come before the rest of it does. */
  arrived: ServiceReply | undefined;
  private hasCome = false;
  private abort: (() => void) | undefined;
  private objected: Error | undefined;

  constructor(private readonly objection: Caller['objection']) {}

  /** Of a request that is made again on another connection, the last attempt counts. */
  whenItComes(abort: () => void): void {
    this.abort = abort;
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
    this.abort?.();
  }
}

/**
 * Tells `work` when the caller's signal aborts or `timeoutMs` have passed, and does not wait for work
 * that ignores it (a request queued behind a connection that is still opening does).
 *
 * @throws the reason of the caller's signal once that is aborted, or the caller's objection, whatever
 *   `work` came to
 */
export function withTimeout<T>(
  timeoutMs: number,
  caller: Caller | undefined,
  work: (end: CallEnd) => Promise<T>,
): Promise<T | typeof TIMED_OUT> {
  const signal = caller?.signal;
  if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
  return new Promise((resolve, reject) => {
    const end = new CallEnd(caller?.objection);
    const settle = (result: T | typeof TIMED_OUT): void => {
      leave();
      if (signal?.aborted === true) reject(signal.reason as Error);
      else if (end.whyNotSent !== undefined) reject(end.whyNotSent);
      else resolve(result);
    };
    const giveUp = (): void => {
      settle(TIMED_OUT);
      end.come();
    };
    const stopTimer = afterRealMs(timeoutMs, giveUp);
    const stopWatching = signal && onAbort(signal, giveUp);
    const leave = (): void => {
      stopTimer();
      stopWatching?.();
    };
    work(end).then(settle, (error: unknown) => {
      leave();
      reject(error instanceof Error ? error : new Error(String(error)));
    });
  });
}
