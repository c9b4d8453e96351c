import { onAbort } from './on-abort.js';

/** Waits for shared work on one waiter's behalf: that waiter's abort rejects its wait, the work goes on. */
export function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason as Error);
  return new Promise((resolve, reject) => {
    const leave = onAbort(signal, () => {
      reject(signal.reason as Error);
    });
    work.then(leave, leave);
    work.then(resolve, reject);
  });
}
