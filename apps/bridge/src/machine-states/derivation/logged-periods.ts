import type { ActivityLogEntry, MachineStateReading } from '#libs/cloud-client';
import {
  type ActivitySegment,
  activitySegments,
  CALCULATION_INTERVAL_SECONDS,
} from './activity-segments.js';
import { isUnseen, START_TOLERANCE_SECONDS } from './duration-start.js';
import type { Period, PublishedPeriod } from './published-period.js';

/** The activity log as read. Times are epoch seconds. */
export interface ActivityLog {
  /** Where the first window began. */
  from: number;
  entries: readonly ActivityLogEntry[];
  /** For a machine first seen: from when on its history is wanted, not the present state alone. */
  historyFrom?: number;
  /** More would have been read, but no further back than this: periods before may be missing. */
  truncatedBefore?: number;
}

/**
 * The log in order, without what is newer than the reading: the log may have been asked after the next
 * minute was calculated. What begins in the minute of the reading's update is new unless the reading
 * shows it, for the update may stand for the beginning of its minute or for the end.
 */
export function segmentsUpTo(reading: MachineStateReading, log: ActivityLog): ActivitySegment[] {
  const { lastUpdateTime, state } = reading;
  const segments = activitySegments(log.entries);
  const minute = lastUpdateTime - (lastUpdateTime % CALCULATION_INTERVAL_SECONDS);
  const newer = segments.findIndex(
    (it) => it.startTime >= minute && (it.state !== state || it.startTime > lastUpdateTime),
  );
  return newer < 0 ? segments : segments.slice(0, newer);
}

/** The segments as periods, each with the end of the one before if minutes are missing in between. */
export function loggedPeriods(segments: readonly ActivitySegment[]): Period[] {
  return segments.map(({ state, startTime }, index) => {
    const endTime = segments[index - 1]?.endTime ?? startTime;
    const isApart = startTime - endTime >= CALCULATION_INTERVAL_SECONDS;
    const previousEndTime = isApart ? endTime : null;
    return { state, startTime, startTimeSource: 'activityLog', previousEndTime };
  });
}

/**
 * What the log has after a period that is not in question, none of it before that: such a period may
 * have been published a minute or two too late when there was no log to be had.
 *
 * @param lastedUntil epoch seconds up to which that period is known to have lasted, if the log does not show it
 */
export function loggedAfter(
  base: PublishedPeriod,
  segments: readonly ActivitySegment[],
  lastedUntil: number,
): Period[] {
  const periods = loggedPeriods(segments);
  const found = indexOfPublished(base, segments);
  if (found >= 0) {
    return periods
      .slice(found + 1)
      .map((it) => ({ ...it, startTime: Math.max(it.startTime, base.startTime) }));
  }
  const [next, ...later] = periods.filter(({ startTime }) => startTime > base.startTime);
  if (next === undefined) return [];
  if (isUnseen(lastedUntil, next.startTime)) {
    return [{ ...next, previousEndTime: Math.max(lastedUntil, base.startTime) }, ...later];
  }
  // The log no longer shows the beginning of the period; this is the rest of it.
  return next.state === base.state ? later : [next, ...later];
}

/**
 * What the log has from the first published period on, which may have to be corrected itself: from where
 * the log has it a little later, or earlier before minutes without data; else what it has in its place.
 */
export function loggedFrom(first: PublishedPeriod, segments: readonly ActivitySegment[]): Period[] {
  const { state, startTime } = first;
  const inPlace = segments.findIndex(({ endTime }) => endTime > startTime);
  if (inPlace < 0) return [];
  const later = segments.findIndex(
    (it, at) =>
      at >= inPlace && it.state === state && it.startTime <= startTime + START_TOLERANCE_SECONDS,
  );
  const [before, next] = [segments[inPlace - 1], segments[inPlace]];
  const isEarlier =
    before?.state === state &&
    before.startTime >= startTime - START_TOLERANCE_SECONDS &&
    (next?.startTime ?? 0) > startTime;
  if (later >= 0) return loggedPeriods(segments.slice(later));
  return loggedPeriods(segments.slice(isEarlier ? inPlace - 1 : inPlace));
}

/** The published period in the log; a start estimated from a duration may be off by a minute or two. */
function indexOfPublished(
  { state, startTime }: PublishedPeriod,
  segments: readonly ActivitySegment[],
): number {
  const distance = (segment: ActivitySegment): number => Math.abs(segment.startTime - startTime);
  let nearest = -1;
  let nearestDistance = START_TOLERANCE_SECONDS + 1;
  for (const [index, segment] of segments.entries()) {
    if (segment.state !== state || distance(segment) >= nearestDistance) continue;
    nearest = index;
    nearestDistance = distance(segment);
  }
  if (nearest >= 0) return nearest;
  return segments.findIndex(
    (it) => it.state === state && it.startTime <= startTime && startTime < it.endTime,
  );
}
