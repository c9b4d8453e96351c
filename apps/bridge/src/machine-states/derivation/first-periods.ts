import type { MachineStateReading } from '#libs/cloud-client';
import {
  type ActivitySegment,
  activitySegments,
  CALCULATION_INTERVAL_SECONDS,
} from './activity-segments.js';
import { durationStart } from './duration-start.js';
import { type ActivityLog, loggedPeriods, segmentsUpTo } from './logged-periods.js';
import { presentPeriod } from './present-period.js';
import type { Period } from './published-period.js';

/** What a machine never seen before begins with: its present state, and its history if that is wanted. */
export function firstPeriods(reading: MachineStateReading, log: ActivityLog | null): Period[] {
  const segments = log === null ? [] : segmentsUpTo(reading, log);
  const history = wantedHistory(segments, log);
  const [latest, last] = [history.at(-1), segments.at(-1)];
  if (latest === undefined) return [presentAlone(reading, last, log)];
  const present = presentPeriod(reading, latest, last, last?.endTime ?? reading.lastUpdateTime);
  return present === undefined ? history : [...history, present];
}

/** From the period that was under way then. */
function wantedHistory(segments: readonly ActivitySegment[], log: ActivityLog | null): Period[] {
  const historyFrom = log?.historyFrom;
  if (historyFrom === undefined) return [];
  return loggedPeriods(segments.filter(({ endTime }) => endTime > historyFrom));
}

function presentAlone(
  reading: MachineStateReading,
  last: ActivitySegment | undefined,
  log: ActivityLog | null,
): Period {
  const { state } = reading;
  const estimated = durationStart(reading);
  const period = { state, startTime: estimated, previousEndTime: null };
  if (log === null || last?.state !== state) return { ...period, startTimeSource: 'duration' };
  const { startTime } = last;
  return isClipped(last, log)
    ? { ...period, startTime: Math.min(estimated, startTime), startTimeSource: 'duration' }
    : { ...period, startTime, startTimeSource: 'activityLog' };
}

/** Where the history that was wanted begins, in epoch seconds, if its first period began before that. */
export function historyEdge(log: ActivityLog): number | undefined {
  const [first] = wantedHistory(activitySegments(log.entries), log);
  return first !== undefined && isClipped(first, log) ? first.startTime : undefined;
}

/** Cut at the window's edge, or at the minute it falls into, a period began at some time before. */
function isClipped({ startTime }: { startTime: number }, { from }: ActivityLog): boolean {
  return startTime <= from && from - startTime < CALCULATION_INTERVAL_SECONDS;
}
