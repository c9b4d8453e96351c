import { renewalPauseMs } from './renewal-pause.js';
import { type NoToken } from './token-source.js';

/** Renewals that have failed, one after the other; times are real, monotonic milliseconds. */
export interface FailedRenewals {
  count: number;
  latest: NoToken;
  nextAttemptMs: number;
}

/** `Retry-After` is the floor of the pause. */
export function addFailure(
  earlier: FailedRenewals | undefined,
  latest: NoToken,
  nowMs: number,
): FailedRenewals {
  const count = (earlier?.count ?? 0) + 1;
  const floorMs = latest.kind === 'unavailable' ? (latest.afterMs ?? 0) : 0;
  const pauseMs = Math.max(renewalPauseMs(count, latest.kind), floorMs);
  return { count, latest, nextAttemptMs: nowMs + pauseMs };
}

/** What a caller is told without another attempt; undefined once it is time for one. */
export function knownFailure(
  failed: FailedRenewals | undefined,
  nowMs: number,
): NoToken | undefined {
  if (failed === undefined || nowMs >= failed.nextAttemptMs) return undefined;
  const { latest, nextAttemptMs } = failed;
  if (latest.kind === 'refused') return latest;
  return { ...latest, afterMs: Math.ceil(nextAttemptMs - nowMs) };
}
