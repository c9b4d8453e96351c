import { type ActivityLogEntry, type MachineStateReading } from '#libs/cloud-client';
import { type MachineState, type StateChanged } from '#libs/contracts';
import {
  type ActivitySegment,
  activitySegments,
  CALCULATION_INTERVAL_SECONDS,
} from './activity-segments.js';
import { durationStart, START_TOLERANCE_SECONDS } from './duration-start.js';
import { type PublishedPeriod } from './tracked-machine.js';

/** The activity log as read: `from` is where the first window began, in epoch seconds. */
export interface ActivityLog {
  from: number;
  entries: readonly ActivityLogEntry[];
}

export interface Period {
  state: MachineState;
  startTime: number;
  startTimeSource: StateChanged['startTimeSource'];
}

/** The log may lag behind the current state, or disagree with it, for this long. */
const LOG_LAG_SECONDS = 120;

/**
 * The periods that began after the one published last, oldest first, the present one included. The log
 * decides about the past, the reading about the present. Without a log the present is all there is.
 */
export function newPeriods(
  current: PublishedPeriod | null,
  reading: MachineStateReading,
  log: ActivityLog | null,
): Period[] {
  const segments = log === null ? [] : segmentsUpTo(reading, log);
  if (current === null) return [firstPeriod(reading, segments.at(-1), log)];
  const logged = inOrder(current, segmentsAfter(current, segments));
  const latest = logged.at(-1) ?? current;
  if (latest.state === reading.state) return logged;
  const present = presentPeriod(reading, latest, segments.at(-1));
  return present === undefined ? logged : [...logged, present];
}

/** Leaves out what is newer than the reading: the log may have been asked after the next minute was calculated. */
export function segmentsUpTo(reading: MachineStateReading, log: ActivityLog): ActivitySegment[] {
  const { lastUpdateTime, state } = reading;
  return activitySegments(log.entries).filter(
    (segment) =>
      segment.startTime < lastUpdateTime ||
      (segment.startTime === lastUpdateTime && segment.state === state),
  );
}

function firstPeriod(
  reading: MachineStateReading,
  last: ActivitySegment | undefined,
  log: ActivityLog | null,
): Period {
  const { state } = reading;
  const reckoned = durationStart(reading);
  if (log === null || last?.state !== state) {
    return { state, startTime: reckoned, startTimeSource: 'duration' };
  }
  // Cut at the window's edge, or at the minute it falls into, it began at some time before.
  const isClipped =
    last.startTime <= log.from && log.from - last.startTime < CALCULATION_INTERVAL_SECONDS;
  return isClipped
    ? { state, startTime: Math.min(reckoned, last.startTime), startTimeSource: 'duration' }
    : { state, startTime: last.startTime, startTimeSource: 'activityLog' };
}

function segmentsAfter(
  current: PublishedPeriod,
  segments: readonly ActivitySegment[],
): ActivitySegment[] {
  const published = indexOfPublished(current, segments);
  if (published >= 0) return segments.slice(published + 1);
  const later = segments.filter(({ startTime }) => startTime > current.startTime);
  // The log no longer shows the beginning of the published period; this is the rest of it.
  return later[0]?.state === current.state ? later.slice(1) : later;
}

/** The published period in the log; a start reckoned from a duration may be off by a minute or two. */
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

/** Published starts only ever grow, even where the last one was reckoned a minute too late. */
function inOrder(current: PublishedPeriod, segments: readonly ActivitySegment[]): Period[] {
  let latest = current.startTime;
  return segments.map(({ state, startTime }) => {
    latest = Math.max(startTime, latest + 1);
    return { state, startTime: latest, startTimeSource: 'activityLog' };
  });
}

/** The log does not show the present state yet: its start is reckoned, within what the log leaves open. */
function presentPeriod(
  reading: MachineStateReading,
  latest: { startTime: number },
  lastLogged: ActivitySegment | undefined,
): Period | undefined {
  const { state, lastUpdateTime } = reading;
  if (latest.startTime >= lastUpdateTime) return undefined;
  const loggedUntil =
    lastLogged === undefined || lastLogged.state === state
      ? 0
      : Math.min(lastLogged.endTime, lastUpdateTime - LOG_LAG_SECONDS);
  const startTime = Math.max(
    durationStart(reading),
    loggedUntil,
    Math.min(latest.startTime + CALCULATION_INTERVAL_SECONDS, lastUpdateTime),
  );
  return { state, startTime, startTimeSource: 'duration' };
}
