import { type TokenGrant } from './token-grant.js';
import { renewAfterMs } from './token-life.js';

/** A token in use; times are real, monotonic milliseconds, `Infinity` where its life is not known. */
export interface HeldToken {
  token: string;
  obtainedMs: number;
  /** It was obtained because its predecessor was answered 403. */
  isForForbidden: boolean;
  /** From here on it is renewed while it is still used. */
  renewMs: number;
  expiresMs: number;
}

/** One machine that is forbidden is answered 403 with any token: one obtained for that reason is kept so long. */
const FORBIDDEN_AFTER_MS = 60_000;
/** A service that refuses every token costs no more than a login in this time. */
const REPLACED_EVERY_MS = 5000;

export function holdToken(
  { token, lifeMs }: TokenGrant,
  isForForbidden: boolean,
  nowMs: number,
): HeldToken {
  const held = { token, obtainedMs: nowMs, isForForbidden };
  if (lifeMs === null) return { ...held, renewMs: Infinity, expiresMs: Infinity };
  return { ...held, renewMs: nowMs + renewAfterMs(lifeMs), expiresMs: nowMs + lifeMs };
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
  if (status === 401 || !held.isForForbidden) return true;
  return nowMs - held.obtainedMs >= FORBIDDEN_AFTER_MS;
}
