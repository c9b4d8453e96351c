import type { MachineStateReading } from '#libs/cloud-client';
import type { Observation, TrackedMachine } from './tracked-machine.js';

/** What makes an answer fresh; epoch seconds of our clock. */
export interface Freshness {
  now: number;
  staleAfterSeconds: number;
  /** When the reading's update was seen first; by default it is as old as it says. */
  updateSeenAt?: number;
}

/** By its own account, or, where the service's clock is ahead, because no newer one has come for as long. */
export function isStale(
  { lastUpdateTime }: Pick<MachineStateReading, 'lastUpdateTime'>,
  { now, staleAfterSeconds, updateSeenAt = lastUpdateTime }: Freshness,
): boolean {
  return now - Math.min(lastUpdateTime, updateSeenAt) > staleAfterSeconds;
}

/**
 * One loss stays one, whatever the further reasons: an outage may answer 503 first and 401 later. Only
 * whether the machine is listed at all is another matter.
 */
export function isNewLoss(before: Observation, reason: Exclude<Observation, 'ok'>): boolean {
  return before === 'ok' || (before === 'removed') !== (reason === 'removed');
}

/** An answer overtaken by a newer one, as that of a replica that lags, says nothing. */
export function isOlderThanKnown(
  { lastUpdateTime }: Pick<TrackedMachine, 'lastUpdateTime'>,
  reading: MachineStateReading,
): boolean {
  return lastUpdateTime !== null && reading.lastUpdateTime < lastUpdateTime;
}
