import { realDelayMs, realNowMs } from '#libs/clock';

/** Checks are calls of services and brokers that share the machine with what is waited for. */
const SHORTEST_POLL_MS = 10;
const LONGEST_POLL_MS = 100;
/** Makes no wait longer by more than this part of it, or {@link SHORTEST_POLL_MS}. */
const POLL_PART = 0.05;
/** Brokers, processes and groups take four times as long where the machine is busy. */
const LONGEST_WAIT_MS = 120_000;

/** Thrown by a check whose condition will never come true, however long anybody waits. */
export class FinalFailure extends Error {}

type Falsy = false | 0 | '' | null | undefined;

type Check<T> = () => T | Promise<T>;
type Met<T> = Promise<Exclude<T, Falsy>>;

/**
 * Waits until `check` returns something truthy, and returns it; with `what` and the reason it last failed for
 * in the error when that does not happen within `timeoutMs`. A {@link FinalFailure} ends it at once.
 */
export function eventually<T>(what: string, check: Check<T>, timeoutMs?: number): Met<T>;
export function eventually<T>(check: Check<T>, timeoutMs?: number): Met<T>;
export async function eventually<T>(...args: unknown[]): Met<T> {
  const what = typeof args[0] === 'string' ? args.shift() : 'the condition';
  const [check, timeoutMs = LONGEST_WAIT_MS] = args as [Check<T>, number?];
  const startMs = realNowMs();
  let last: unknown;
  for (let waitedMs = 0; waitedMs < timeoutMs; waitedMs = realNowMs() - startMs) {
    try {
      const value = await check();
      if (value) return value as Exclude<T, Falsy>;
      last = value;
    } catch (error) {
      if (error instanceof FinalFailure) throw error;
      last = error;
    }
    const pollMs = Math.max(SHORTEST_POLL_MS, (realNowMs() - startMs) * POLL_PART);
    await realDelayMs(Math.min(LONGEST_POLL_MS, pollMs));
  }
  throw new Error(
    `${String(what)} did not come true within ${timeoutMs} ms; last: ${String(last)}`,
  );
}
