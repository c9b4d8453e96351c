import type { LoggedCall } from '../sandbox-control.js';

/** Within this time a process that is woken sends the call that it was about to send when it was suspended. */
const WAKING_MS = 1000;

/**
 * The faults in the calls of a test that suspends a process and wakes it after `beforeWaking`; none if one single call
 * at its waking causes all of them. The process checks that it may call right before it writes. If it is suspended
 * between the two, nothing can prevent that call.
 */
export function faultsButForOne(
  calls: readonly LoggedCall[],
  beforeWaking: number,
  faultsOf: (calls: readonly LoggedCall[]) => string[],
): string[] {
  const faults = faultsOf(calls);
  if (faults.length === 0) return [];
  const since = calls.filter(({ sequence }) => sequence > beforeWaking);
  const wokenMs = since[0]?.startedAtMs ?? Infinity;
  const isSpared = since
    .filter(({ startedAtMs }) => startedAtMs < wokenMs + WAKING_MS)
    .some((call) => faultsOf(calls.filter((other) => other !== call)).length === 0);
  return isSpared ? [] : faults;
}
