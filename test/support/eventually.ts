import { realDelayMs, realNowMs } from '#libs/clock';

/** Checks are calls of services and brokers that share the machine with what is waited for. */
const SHORTEST_POLL_MS = 10;
const LONGEST_POLL_MS = 100;
/** Makes no wait longer by more than this part of it, or {@link SHORTEST_POLL_MS}. */
const POLL_PART = 0.05;

/** Thrown by a check whose condition will never come true, however long anybody waits. */
export class FinalFailure extends Error {}

type Falsy = false | 0 | '' | null | undefined;

/**
 * Waits until `check` returns something truthy, and returns it; with the reason it last failed for
 * in the error when that does not happen within `timeoutMs`. A {@link FinalFailure} ends it at once.
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  { timeoutMs = 60_000, what = 'the condition' }: { timeoutMs?: number; what?: string } = {},
): Promise<Exclude<T, Falsy>> {
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
  throw new Error(`${what} did not come true within ${timeoutMs} ms; last: ${String(last)}`);
}
