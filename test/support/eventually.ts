import { realDelayMs, realNowMs } from '#libs/clock';

const POLL_MS = 25;

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
  const deadline = realNowMs() + timeoutMs;
  let last: unknown;
  while (realNowMs() < deadline) {
    try {
      const value = await check();
      if (value) return value as Exclude<T, Falsy>;
      last = value;
    } catch (error) {
      if (error instanceof FinalFailure) throw error;
      last = error;
    }
    await realDelayMs(POLL_MS);
  }
  throw new Error(`${what} did not come true within ${timeoutMs} ms; last: ${String(last)}`);
}
