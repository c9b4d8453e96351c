import { type TokenGrant } from './token-grant.js';
import { renewAfterMs } from './token-life.js';

/** A token in use; times are real, monotonic milliseconds, `Infinity` where its life is not known. */
export interface HeldToken {
  token: string;
  obtainedMs: number;
  /** From here on it is renewed while it is still used. */
  renewMs: number;
  expiresMs: number;
}

/** One machine that is forbidden is answered 403 with any token; the login is not to suffer from it. */
const FORBIDDEN_AFTER_MS = 60_000;
/** A service that refuses every token costs no more than a login in this time. */
const REPLACED_EVERY_MS = 5000;

export function holdToken({ token, lifeMs }: TokenGrant, nowMs: number): HeldToken {
  if (lifeMs === null) {
    return { token, obtainedMs: nowMs, renewMs: Infinity, expiresMs: Infinity };
  }
  const renewMs = nowMs + renewAfterMs(lifeMs);
  return { token, obtainedMs: nowMs, renewMs, expiresMs: nowMs + lifeMs };
}

/**
 * Whether a token that the service has refused is worth a new one.
 *
 * @param replacedMs when a refused token was last replaced
 */
export function isWorthReplacing(
  status: 401 | 403,
  held: HeldToken,
  replacedMs: number,
  nowMs: number,
): boolean {
  if (nowMs - replacedMs < REPLACED_EVERY_MS) return false;
  return status === 401 || nowMs - held.obtainedMs >= FORBIDDEN_AFTER_MS;
}
