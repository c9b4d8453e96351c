import type { MachineStateReading } from '#libs/cloud-client';
import { type ActivitySegment, CALCULATION_INTERVAL_SECONDS } from './activity-segments.js';
import { durationStart, isUnseen } from './duration-start.js';
import type { Period } from './published-period.js';

/** The log may lag behind the current state, or disagree with it, for this long. */
const LOG_LAG_SECONDS = 120;

/**
 * The present state, if it is not the latest known one yet: from the log, else its start is estimated
 * within what the log leaves open. Never later than the reading's own update. It is another period than the
 * latest one too if nothing is known of what lies between them.
 * It begins after what is settled, whatever its duration says.
 *
 * @param seenUntil epoch seconds of the latest update before this one, or of the log's end
 * @param settledUntil epoch seconds up to which nothing is added any more
 */
export function presentPeriod(
  reading: MachineStateReading,
  latest: Pick<Period, 'state' | 'startTime'>,
  lastLogged: ActivitySegment | undefined,
  seenUntil: number,
  settledUntil = -Infinity,
): Period | undefined {
  const { state, lastUpdateTime } = reading;
  const estimated = durationStart(reading);
  if (latest.state === state && !isUnseen(seenUntil, estimated)) return undefined;
  if (Math.max(latest.startTime, settledUntil) >= lastUpdateTime) return undefined;
  if (lastLogged?.state === state && lastLogged.startTime > latest.startTime) {
    const { startTime } = lastLogged;
    return { state, startTime, startTimeSource: 'activityLog', previousEndTime: null };
  }
  const loggedUntil =
    lastLogged === undefined || lastLogged.state === state
      ? 0
      : Math.min(lastLogged.endTime, lastUpdateTime - LOG_LAG_SECONDS);
  const startTime = Math.max(
    estimated,
    loggedUntil,
    settledUntil + 1,
    Math.min(latest.startTime + CALCULATION_INTERVAL_SECONDS, lastUpdateTime),
  );
  const previousEndTime = isUnseen(seenUntil, startTime)
    ? Math.max(seenUntil, latest.startTime)
    : null;
  return { state, startTime, startTimeSource: 'duration', previousEndTime };
}
