import { setTimeout as delay } from 'node:timers/promises';

/** Real time, monotonic, in milliseconds: for durations only. */
export function realNowMs(): number {
  return performance.now();
}

/** Real epoch milliseconds: for times sent to others beside the accelerated clock (HTTP dates, log lines). */
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
 * Calls `task` once after `ms` of real time, unless the returned function is called before. Cheaper to cancel than a
 * delay, whose rejection creates an error: for tasks that are nearly always cancelled. Never keeps a process alive.
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

/** Waits for `work` for at most `deadlineMs`, and ignores its failure. Returns whether the work settled in time. */
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

/** Timers overflow far above this; a task woken too early sets the next time. */
const LONGEST_SLEEP_MS = 60_000;

/** One timer for many waits: the earliest requested time counts. */
export class WakeTimer {
  private cancel: () => void = () => undefined;
  private atMs = Infinity;

  /** @param onWake handles what is due, and requests the next time */
  constructor(private readonly onWake: () => void) {}

  /** Requests a call of `onWake` at that real time (milliseconds) or somewhat earlier. */
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
