/** How long before the end of a token's life its successor is fetched: a share of short lives, a minute of long ones. */
const MARGIN_SHARE = 0.2;
const LONGEST_MARGIN_MS = 60_000;
/** Above this it is milliseconds, which RFC 7519 does not know. */
const LARGEST_EPOCH_SECONDS = 99_999_999_999;

/** Real milliseconds from its issue after which a token that lives `lifeMs` should be renewed. */
export function renewAfterMs(lifeMs: number): number {
  return lifeMs - Math.min(LONGEST_MARGIN_MS, lifeMs * MARGIN_SHARE);
}

/**
 * What a JWT (RFC 7519) has left of its life by its claim `exp`, in milliseconds. Null for any other
 * token, and for one that seems to have expired: it has just been issued, so a clock must be wrong.
 *
 * @param nowMs epoch milliseconds, best by the clock of whoever issued it
 */
export function jwtLifeMs(token: string, nowMs: number): number | null {
  const [, payload, signature] = token.split('.');
  if (payload === undefined || signature === undefined) return null;
  try {
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as unknown;
    const { exp } = Object(claims) as { exp?: unknown };
    if (typeof exp !== 'number' || exp > LARGEST_EPOCH_SECONDS) return null;
    return exp * 1000 > nowMs ? exp * 1000 - nowMs : null;
  } catch {
    return null;
  }
}
