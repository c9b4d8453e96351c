import { afterRealMs } from '#libs/clock';

export const TIMED_OUT = Symbol('timed out');

/**
 * Gives `work` a signal that aborts with the caller's or when `timeoutMs` have passed, and does not
 * wait for work that ignores it (a request queued behind a connection that is still opening does).
 *
 * @throws the reason of `caller` once that is aborted, whatever `work` came to
 */
export async function withDeadline<T>(
  timeoutMs: number,
  caller: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | typeof TIMED_OUT> {
  caller?.throwIfAborted();
  const end = new AbortController();
  let giveUp!: () => void;
  const givenUp = new Promise<typeof TIMED_OUT>((resolve) => {
    giveUp = () => {
      end.abort(caller?.reason);
      resolve(TIMED_OUT);
    };
  });
  const stopTimer = afterRealMs(timeoutMs, giveUp);
  caller?.addEventListener('abort', giveUp, { once: true });
  try {
    const result = await Promise.race([work(end.signal), givenUp]);
    caller?.throwIfAborted();
    return result;
  } finally {
    stopTimer();
    caller?.removeEventListener('abort', giveUp);
  }
}
