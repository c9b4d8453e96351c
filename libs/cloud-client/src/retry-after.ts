/** A day. A larger figure is a mistake, and would overflow the timer that waits for it. */
const LONGEST_WAIT_MS = 86_400_000;

const SECONDS = /^\d+(\.\d+)?$/;
/** The three date forms of HTTP begin with a weekday; `Date.parse` alone would take "-5" for a date. */
const HTTP_DATE = /^[A-Za-z]{3,9},? /;

/**
 * Reads `Retry-After`, which is either seconds or an HTTP date.
 *
 * A date is compared with the answer's own `Date` when it has one, so that a difference between the
 * service's clock and ours does not matter.
 *
 * @param nowMs real epoch milliseconds, for an answer without `Date`
 * @returns real milliseconds to wait, 0 when the date has passed, null without a readable header
 */
export function readRetryAfter(
  headers: { retryAfter?: string | undefined; date?: string | undefined },
  nowMs: number,
): number | null {
  const value = headers.retryAfter?.trim() ?? '';
  if (SECONDS.test(value)) return boundWait(Number(value) * 1000);
  const until = parseHttpDate(value);
  if (until === null) return null;
  return boundWait(until - (parseHttpDate(headers.date ?? '') ?? nowMs));
}

/** Epoch milliseconds of an HTTP date in any of its three forms, else null. */
export function parseHttpDate(value: string): number | null {
  if (!HTTP_DATE.test(value)) return null;
  // the oldest of the three forms leaves the zone out and would be read as local time
  const time = Date.parse(value.endsWith('GMT') ? value : `${value} GMT`);
  return Number.isNaN(time) ? null : time;
}

function boundWait(ms: number): number {
  return Math.min(Math.max(Math.ceil(ms), 0), LONGEST_WAIT_MS);
}
