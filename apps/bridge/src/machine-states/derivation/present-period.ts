import { type MachineStateReading } from '#libs/cloud-client';
import { type ActivitySegment, CALCULATION_INTERVAL_SECONDS } from './activity-segments.js';
import { durationStart } from './duration-start.js';
import { type Period } from './published-period.js';

/** The log may lag behind the current state, or disagree with it, for this long. */
const LOG_LAG_SECONDS = 120;

/**
 * The present state, if it is not the latest known one yet: from the log, else its start is reckoned
 * within what the log leaves open. Never later than the reading's own update.
 */
export function presentPeriod(
  reading: MachineStateReading,
  latest: Pick<Period, 'state' | 'startTime'>,
  lastLogged: ActivitySegment | undefined,
): Period | undefined {
  const { state, lastUpdateTime } = reading;
  if (latest.state === state || latest.startTime >= lastUpdateTime) return undefined;
  if (lastLogged?.state === state && lastLogged.startTime > latest.startTime) {
    const { startTime } = lastLogged;
    return { state, startTime, startTimeSource: 'activityLog', previousEndTime: null };
  }
  const loggedUntil =
    lastLogged === undefined || lastLogged.state === state
      ? 0
      : Math.min(lastLogged.endTime, lastUpdateTime - LOG_LAG_SECONDS);
  const startTime = Math.max(
    durationStart(reading),
    loggedUntil,
    Math.min(latest.startTime + CALCULATION_INTERVAL_SECONDS, lastUpdateTime),
  );
  return { state, startTime, startTimeSource: 'duration', previousEndTime: null };
}
