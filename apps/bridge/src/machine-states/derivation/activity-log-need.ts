import { type MachineStateReading } from '#libs/cloud-client';
import { CALCULATION_INTERVAL_SECONDS } from './activity-segments.js';
import { durationStart, START_TOLERANCE_SECONDS } from './duration-start.js';
import { type ActivityLog, segmentsUpTo } from './new-periods.js';
import { type TrackedMachine } from './tracked-machine.js';

/** Asked for before the start in question, so that a start at the window's edge is known to be clipped. */
const MARGIN_SECONDS = 600;

/** A log that ends longer ago than this is not going to catch up with the current state. */
const CATCH_UP_SECONDS = 300;

/**
 * From when on the activity log must be read (epoch seconds), or null when the reading says enough.
 *
 * @param knownUntil epoch seconds up to which no period can have been missed; null after a restart
 */
export function activityLogNeed(
  tracked: TrackedMachine | undefined,
  reading: MachineStateReading,
  knownUntil: number | null,
): number | null {
  const current = tracked?.current ?? null;
  if (tracked === undefined || current === null) return durationStart(reading) - MARGIN_SECONDS;
  const isNeeded =
    knownUntil === null ||
    tracked.observation !== 'ok' ||
    reading.state !== current.state ||
    mayHaveMissedPeriods(reading, knownUntil);
  return isNeeded ? current.startTime - MARGIN_SECONDS : null;
}

/** A state that came and went shows in the duration: the current one then began after `knownUntil`. */
function mayHaveMissedPeriods(reading: MachineStateReading, knownUntil: number): boolean {
  const isNextMinute = reading.lastUpdateTime - knownUntil <= CALCULATION_INTERVAL_SECONDS;
  return !isNextMinute && durationStart(reading) > knownUntil - START_TOLERANCE_SECONDS;
}

/** Up to when no period can have been missed, once reading and log have been taken into account. */
export function knownAfter(reading: MachineStateReading, log: ActivityLog | null): number {
  const { lastUpdateTime, state } = reading;
  const last = log === null ? undefined : segmentsUpTo(reading, log).at(-1);
  if (last === undefined || lastUpdateTime - last.endTime > CATCH_UP_SECONDS) return lastUpdateTime;
  const reachesReading =
    last.state === state && lastUpdateTime - last.endTime <= CALCULATION_INTERVAL_SECONDS;
  return reachesReading ? lastUpdateTime : Math.min(last.endTime, lastUpdateTime);
}
