import { everyRealMs, realDelayMs, realNowMs } from '#libs/clock';

/** Checks are calls of services and brokers, which share the computer with the processes under test. */
const SHORTEST_POLL_MS = 10;
const LONGEST_POLL_MS = 100;
/** The poll interval as a part of the time waited so far; {@link SHORTEST_POLL_MS} at least. */
const POLL_PART = 0.05;
/** On a busy computer, brokers, processes and groups take four times as long. */
const LONGEST_WAIT_MS = 120_000;
const TICK_MS = 250;
/** A process whose ticks are this far apart did not run in between. */
const STANDSTILL_MS = 1000;
/** A check that blocks this process each time it runs must not go on for good. */
const LONGEST_STANDSTILL_MS = 300_000;

/** Thrown by a check whose condition will never come true. */
export class FinalFailure extends Error {}

type Falsy = false | 0 | '' | null | undefined;

type Check<T> = () => T | Promise<T>;
type Met<T> = Promise<Exclude<T, Falsy>>;

/**
 * Waits until `check` returns a truthy value, and returns that. After `timeoutMs` it throws an error with `what` and
 * the reason of the last failure. A {@link FinalFailure} ends the wait at once.
 *
 * Time in which this process stood still does not count: a computer that is suspended or starved for minutes leaves
 * the processes under test no time either.
 */
export function eventually<T>(what: string, check: Check<T>, timeoutMs?: number): Met<T>;
export function eventually<T>(check: Check<T>, timeoutMs?: number): Met<T>;
export async function eventually<T>(...args: unknown[]): Met<T> {
  const what = typeof args[0] === 'string' ? args.shift() : 'the condition';
  const [check, timeoutMs = LONGEST_WAIT_MS] = args as [Check<T>, number?];
  const wait = new RunningTime();
  let last: unknown;
  try {
    while (wait.ms < timeoutMs && wait.stoodStillMs < LONGEST_STANDSTILL_MS) {
      try {
        const value = await check();
        if (value) return value as Exclude<T, Falsy>;
        last = value;
      } catch (error) {
        if (error instanceof FinalFailure) throw error;
        last = error;
      }
      const pollMs = Math.max(SHORTEST_POLL_MS, wait.ms * POLL_PART);
      await realDelayMs(Math.min(LONGEST_POLL_MS, pollMs));
    }
  } finally {
    wait.stop();
  }
  const stoodStill = wait.stoodStillMs > 0 ? `, without ${wait.stoodStillMs} ms of standstill` : '';
  throw new Error(
    `${String(what)} did not come true within ${timeoutMs} ms${stoodStill}; last: ${String(last)}`,
  );
}

/** Real milliseconds since its creation in which this process ran. */
export class RunningTime {
  stoodStillMs = 0;
  private readonly startMs = realNowMs();
  private tickedMs = this.startMs;
  readonly stop = everyRealMs(TICK_MS, () => this.tick());

  get ms(): number {
    this.tick();
    return this.tickedMs - this.startMs - this.stoodStillMs;
  }

  private tick(): void {
    const gapMs = realNowMs() - this.tickedMs;
    this.tickedMs += gapMs;
    if (gapMs > STANDSTILL_MS) this.stoodStillMs += Math.round(gapMs);
  }
}
