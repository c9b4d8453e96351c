import { setTimeout as delay } from 'node:timers/promises';

export interface ClockOptions {
  /** Clock seconds per real second; 1 is real time. */
  speed?: number;
  /** Epoch seconds at which the accelerated clock and the real one agreed. */
  originSeconds?: number;
}

/** setTimeout overflows above 2^31 - 1 ms; longer sleeps consist of several. */
const LONGEST_TIMER_MS = 2_000_000_000;

/** The time of the plant: real, or accelerated as `now = origin + (real - origin) * speed`. */
export class Clock {
  readonly speed: number;
  private readonly originMs: number;

  constructor(options: ClockOptions = {}) {
    this.speed = options.speed ?? 1;
    this.originMs = (options.originSeconds ?? 0) * 1000;
  }

  /** Epoch milliseconds. */
  nowMs(): number {
    return this.atMs(Date.now());
  }

  /** The plant's time at a real one, both in epoch milliseconds. */
  atMs(epochMs: number): number {
    return this.speed === 1 ? epochMs : this.originMs + (epochMs - this.originMs) * this.speed;
  }

  /** Epoch seconds, rounded down. */
  nowSeconds(): number {
    return Math.floor(this.nowMs() / 1000);
  }

  /**
   * Milliseconds at this clock's speed since an arbitrary time. They only increase, even if the wall clock is set:
   * for spans, turns and waits.
   */
  monotonicMs(): number {
    return realNowMs() * this.speed;
  }

  /** {@link monotonicMs} in real milliseconds. */
  get realMs(): number {
    return this.monotonicMs() / this.speed;
  }

  /** Sleeps for seconds of this clock; rejects with `signal.reason` when aborted. */
  async sleepSeconds(seconds: number, signal?: AbortSignal): Promise<void> {
    await this.sleepUntilMonotonicMs(this.monotonicMs() + seconds * 1000, signal);
  }

  /** Sleeps until {@link monotonicMs} is `untilMs`; returns at once when it has passed. */
  async sleepUntilMonotonicMs(untilMs: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    for (;;) {
      const remainingMs = (untilMs - this.monotonicMs()) / this.speed;
      if (remainingMs <= 0) return;
      await realDelayMs(Math.min(Math.ceil(remainingMs), LONGEST_TIMER_MS), signal);
    }
  }
}

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

export const TIMED_OUT = Symbol('timed out');

/**
 * Gives up `work` with the signal or after `timeoutMs`, and does not wait for work that ignores that (as a request
 * queued behind a connection that is still opening).
 *
 * @throws the reason of the signal once it is aborted, whatever the result of `work`
 */
export function withTimeout<T>(
  timeoutMs: number,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
  onGivenUp: () => void = () => undefined,
): Promise<T | typeof TIMED_OUT> {
  if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
  return new Promise((resolve, reject) => {
    const settle = (result: T | typeof TIMED_OUT): void => {
      leave();
      if (signal?.aborted === true) reject(signal.reason as Error);
      else resolve(result);
    };
    const giveUp = (): void => {
      settle(TIMED_OUT);
      onGivenUp();
    };
    const stopTimer = afterRealMs(timeoutMs, giveUp);
    const stopWatching = signal && onAbort(signal, giveUp);
    const leave = (): void => {
      stopTimer();
      stopWatching?.();
    };
    work().then(settle, (error: unknown) => {
      leave();
      reject(error instanceof Error ? error : new Error(String(error)));
    });
  });
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

/** Waits for shared work: an abort of the signal rejects this wait, while the work goes on. */
export function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    // Its failure has no other listener.
    work.catch(() => undefined);
    return Promise.reject(signal.reason as Error);
  }
  return new Promise((resolve, reject) => {
    const leave = onAbort(signal, () => reject(signal.reason as Error));
    work.then(leave, leave);
    work.then(resolve, reject);
  });
}

interface Task {
  run: () => void;
  /** Index among the tasks of its signal. */
  place: number;
}

/** Tasks to run when a signal aborts. */
interface Watch {
  readonly tasks: Task[];
  /** The listener; registered only while there are tasks, as a composite signal is retained while it has one. */
  readonly runAll: () => void;
}

/**
 * One listener for each signal.
 *
 * The signal's own list makes each removal search past all others. With an array the young heap also had less to
 * copy, in most runs of a benchmark, than with that list or with a Set: most likely because entries removed from
 * these still refer to later ones, and retain them once they are old.
 */
const watches = new WeakMap<AbortSignal, Watch>();

/**
 * Calls `run`, which must not throw, once `signal` aborts, unless the returned function is called before. Several
 * tasks run in any order. Does nothing for a signal that has aborted.
 */
export function onAbort(signal: AbortSignal, run: () => void): () => void {
  if (signal.aborted) return () => undefined;
  const { tasks, runAll } = watches.get(signal) ?? watchOf(signal);
  const task = { run, place: tasks.length };
  tasks.push(task);
  if (tasks.length === 1) signal.addEventListener('abort', runAll);
  return () => {
    remove(tasks, task);
    if (tasks.length === 0) signal.removeEventListener('abort', runAll);
  };
}

function watchOf(signal: AbortSignal): Watch {
  const tasks: Task[] = [];
  const runAll = (): void => {
    // A task may cancel another, which must not run then.
    for (const task of [...tasks]) if (isAmong(tasks, task)) task.run();
  };
  const watch = { tasks, runAll };
  watches.set(signal, watch);
  return watch;
}

function remove(tasks: Task[], task: Task): void {
  if (!isAmong(tasks, task)) return;
  const last = tasks.pop();
  if (last === undefined || last === task) return;
  tasks[task.place] = last;
  last.place = task.place;
}

function isAmong(tasks: readonly Task[], task: Task): boolean {
  return tasks[task.place] === task;
}

/** A signal that follows others until it is released. */
interface CompositeSignal {
  signal: AbortSignal;
  release: () => void;
}

/**
 * Returns a signal that aborts with the first of others. With Node 20, each signal of `AbortSignal.any` leaks 60
 * bytes at those that it follows, and that of a partition lives as long as its assignment.
 */
export function whenAnyAborts(...signals: readonly AbortSignal[]): CompositeSignal {
  const any = new AbortController();
  const leave = signals.map((signal) => {
    const abort = (): void => any.abort(signal.reason);
    if (signal.aborted) abort();
    return onAbort(signal, abort);
  });
  return released(any, leave);
}

/** Returns a signal that aborts once the last of others has. */
export function whenAllAbort(signals: ReadonlySet<AbortSignal>): CompositeSignal {
  const all = new AbortController();
  const check = (): void => {
    if ([...signals].every(({ aborted }) => aborted)) all.abort(new Error('nobody waits any more'));
  };
  const leave = [...signals].map((signal) => onAbort(signal, check));
  check();
  return released(all, leave);
}

function released({ signal }: AbortController, leave: readonly (() => void)[]): CompositeSignal {
  return {
    signal,
    release: () => {
      for (const each of leave) each();
    },
  };
}
