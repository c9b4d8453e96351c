import { setTimeout as delay } from 'node:timers/promises';

/** Real time, monotonic, in milliseconds: for durations only. */
export function realNowMs(): number {
  return performance.now();
}

/** Real epoch milliseconds: for what leaves the process beside the accelerated clock (HTTP dates, log lines). */
export function realEpochMs(): number {
  return Date.now();
}

/**
 * Waits `ms` of real time: back-off, linger, deadlines.
 *
 * @throws `signal.reason` as soon as the signal aborts
 */
export async function realDelayMs(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  try {
    await delay(ms, undefined, signal ? { signal } : {});
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}

/**
 * Calls `task` once after `ms` of real time, unless the returned function is called before. Cheaper
 * to cancel than a delay, whose rejection makes an error: for what is nearly always cancelled. Never
 * keeps a process alive.
 */
export function afterRealMs(ms: number, task: () => void): () => void {
  const timer = setTimeout(task, ms);
  timer.unref();
  return () => clearTimeout(timer);
}

/** Calls `task` every `ms` of real time until the returned function is called; never keeps a process alive. */
export function everyRealMs(ms: number, task: () => void): () => void {
  const timer = setInterval(task, ms);
  timer.unref();
  return () => clearInterval(timer);
}

/**
 * Waits for `work`, but not longer than `deadlineMs`, and swallows its failure. Returns whether the work came to its
 * end in time.
 */
export async function withDeadline(
  work: Promise<unknown> | undefined,
  deadlineMs: number,
): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, deadlineMs, false);
  });
  const finished = Promise.resolve(work).then(
    () => true,
    () => true,
  );
  const inTime = await Promise.race([finished, expired]);
  clearTimeout(timer);
  return inTime;
}

/** Timers overflow far above this; who wakes too early looks at what is due and sleeps again. */
const LONGEST_SLEEP_MS = 60_000;

/** One timer for all that waits: the earliest time asked for counts. */
export class WakeTimer {
  private cancel: () => void = () => undefined;
  private atMs = Infinity;

  /** @param onWake looks at what is due, and asks for the next time */
  constructor(private readonly onWake: () => void) {}

  /** Asks to be woken at that real time, in milliseconds, or somewhat before. */
  wakeAt(atMs: number): void {
    if (atMs >= this.atMs) return;
    this.cancel();
    this.atMs = atMs;
    const sleepMs = Math.min(LONGEST_SLEEP_MS, Math.max(1, atMs - realNowMs()));
    this.cancel = afterRealMs(sleepMs, () => {
      this.atMs = Infinity;
      this.onWake();
    });
  }
}
