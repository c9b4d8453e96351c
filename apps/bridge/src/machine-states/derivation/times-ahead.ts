import type { TrackedMachine } from './tracked-machine.js';

/** A service's clock may run ahead of ours a little; what is further ahead is no time at all. */
export const MAX_AHEAD_SECONDS = 300;

/** Both in epoch seconds, `now` of the clock that is later, ours or the service's as far as that is known. */
export function isTooFarAhead(time: number | null, now: number): boolean {
  return time !== null && time - now > MAX_AHEAD_SECONDS;
}

/**
 * What is remembered, but for times that cannot be: they count as not known. One of them would have every
 * reading taken for older until that time has come, and a loss begin after it is noticed.
 */
export function withoutTimesAhead(tracked: TrackedMachine, now: number): TrackedMachine {
  const { lastUpdateTime, lostSince } = tracked;
  const [isUpdateAhead, isLossAhead] = [
    isTooFarAhead(lastUpdateTime, now),
    isTooFarAhead(lostSince, now),
  ];
  if (!isUpdateAhead && !isLossAhead) return tracked;
  return {
    ...tracked,
    lastUpdateTime: isUpdateAhead ? null : lastUpdateTime,
    lostSince: isLossAhead ? null : lostSince,
  };
}
