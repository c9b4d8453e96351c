import { realDelayMs } from './real-time.js';

/**
 * Waits for `work`, but not longer than `deadlineMs`, and swallows its failure: for clean-up that
 * must not hold anything up. Returns whether the work came to its end in time.
 */
export async function withDeadline(
  work: Promise<unknown> | undefined,
  deadlineMs: number,
): Promise<boolean> {
  const timer = new AbortController();
  const finished = Promise.resolve(work).then(
    () => true,
    () => true,
  );
  const expired = realDelayMs(deadlineMs, timer.signal).then(
    () => false,
    () => false,
  );
  const inTime = await Promise.race([finished, expired]);
  timer.abort();
  return inTime;
}
