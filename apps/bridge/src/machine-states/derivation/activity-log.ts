import type { ActivityLogEntry, MachineStateReading } from '#libs/cloud-client';
import type { MachineState } from '#libs/contracts';
import type { Period, PublishedPeriod } from './tracked-machine.js';

/** The activity log as read. Times are epoch seconds. */
export interface ActivityLog {
  /** Where the first window began. */
  from: number;
  entries: readonly ActivityLogEntry[];
  /** For a machine first seen: from when on its history is wanted, not the present state alone. */
  historyFrom?: number;
  /** More would have been read, but no further back than this: periods before may be missing. */
  truncatedBefore?: number;
  /** Start of the present state by its duration, as it was when the log was first asked for in vain. */
  startBefore?: number;
}

/** A stretch of one state in the activity log, in epoch seconds; `endTime` is the first moment after it. */
export interface ActivitySegment {
  state: MachineState;
  startTime: number;
  endTime: number;
}

/** Interface, Limits: what one request answers for; history is made up for no further back. */
export const LONGEST_WINDOW_SECONDS = 30 * 24 * 3600;

/** The service calculates states by the minute: what is missing for less is no missing state. */
export const CALCULATION_INTERVAL_SECONDS = 60;

/**
 * Puts log entries in order: sorted, without overlap, neighbours of one state merged. Where entries
 * overlap the one that starts later counts. A missing minute or more stays a gap, so that the state
 * after it is a period of its own.
 */
export function activitySegments(entries: readonly ActivityLogEntry[]): ActivitySegment[] {
  const segments: ActivitySegment[] = [];
  for (const segment of withoutOverlap(sorted(entries))) {
    const previous = segments.at(-1);
    const isSame = previous?.state === segment.state;
    if (isSame && segment.startTime - previous.endTime < CALCULATION_INTERVAL_SECONDS) {
      previous.endTime = segment.endTime;
    } else {
      segments.push(segment);
    }
  }
  return segments;
}

/** A period that began this very minute may have no length yet; any other without one is an artefact of clipping. */
function sorted(entries: readonly ActivityLogEntry[]): ActivitySegment[] {
  const latestStart = entries.reduce((latest, entry) => Math.max(latest, entry.startTime), 0);
  const isLatest = ({ startTime }: ActivityLogEntry): boolean => startTime === latestStart;
  const hasBegun = !entries.some((entry) => isLatest(entry) && hasLength(entry));
  return entries
    .map((entry) => {
      const { state, startTime } = entry;
      const endTime = hasBegun && isLatest(entry) ? startTime + 1 : entry.endTime;
      return { state, startTime, endTime };
    })
    .filter(hasLength)
    .sort((a, b) => a.startTime - b.startTime || b.endTime - a.endTime);
}

function hasLength({
  startTime,
  endTime,
}: Pick<ActivitySegment, 'startTime' | 'endTime'>): boolean {
  return endTime > startTime;
}

function withoutOverlap(entries: readonly ActivitySegment[]): ActivitySegment[] {
  const segments: ActivitySegment[] = [];
  // Entries that have begun; the last began last and is the one that counts.
  const open: ActivitySegment[] = [];
  let cursor = -Infinity;
  const advance = (until: number): void => {
    for (let top = open.at(-1); top !== undefined && cursor < until; top = open.at(-1)) {
      const endTime = Math.min(top.endTime, until);
      if (endTime > cursor) segments.push({ state: top.state, startTime: cursor, endTime });
      cursor = Math.max(cursor, endTime);
      if (top.endTime <= cursor) open.pop();
    }
    cursor = Math.max(cursor, until);
  };
  for (const entry of entries) {
    advance(entry.startTime);
    open.push(entry);
  }
  advance(Infinity);
  return segments;
}

/** How far `durationInMinutes` may be off: it is rounded, and jitters by a minute (interface: 1 to 2 minutes). */
export const START_TOLERANCE_SECONDS = 120;

/** Start of the state as its duration has it, in epoch seconds; not in year -2000 for a duration without sense. */
export function durationStart({ lastUpdateTime, durationInMinutes }: MachineStateReading): number {
  return Math.max(0, lastUpdateTime - Math.max(0, durationInMinutes) * 60);
}

/** Whether so little is known between that the state before cannot be said to have lasted: one poll may have failed. */
export function isUnseen(from: number, to: number): boolean {
  return to - from > START_TOLERANCE_SECONDS + 60;
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
 * What the log has after a period beyond question, which may have been published a minute or two late without a log.
 * What the log has rewritten in its place comes first. It lasted until `lastedUntil`, if the log does not show it.
 */
export function loggedAfter(
  base: PublishedPeriod,
  segments: readonly ActivitySegment[],
  lastedUntil: number,
): Period[] {
  const periods = loggedPeriods(segments);
  const found = indexOfPublished(base, segments);
  const inPlace = segments.findIndex(
    (it) => it.startTime <= base.startTime && base.startTime < it.endTime,
  );
  if (found >= 0 || inPlace >= 0) {
    return periods
      .slice(found >= 0 ? found + 1 : inPlace)
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

/**
 * Up to when the log will not change any more, in epoch seconds. Only the service's own updates say how late
 * it is there: while it stands, nothing becomes final, however long that lasts by our clock.
 */
export function finalUntil(
  { lastUpdateTime }: MachineStateReading,
  { settleSeconds }: { settleSeconds: number },
): number {
  return lastUpdateTime - settleSeconds;
}

/** Ends where the log ends: where the log says nothing, it corrects and confirms nothing. */
export function settledPart(final: number, segments: readonly ActivitySegment[]): number {
  return Math.min(final, endOf(segments) - 1);
}

/**
 * Epoch seconds from which the log has yet to account for what led to the reading; null when it accounts for
 * all of it. A state whose duration reaches back well into the log has gone on since. One that began well after the log
 * has it begin came after another that the log does not show yet; it may still do so for starts after `final`.
 *
 * @param final epoch seconds up to which the log will not change any more
 * @param startBefore as the log has it: where the duration does not grow, its start would never become final
 */
export function unreadAfter(
  reading: MachineStateReading,
  segments: readonly ActivitySegment[],
  final: number,
  startBefore = Infinity,
): number | null {
  const { lastUpdateTime, state } = reading;
  const [last, start] = [segments.at(-1), durationStart(reading)];
  const end = endOf(segments);
  if (last?.state === state && lastUpdateTime - end <= CALCULATION_INTERVAL_SECONDS) {
    const isLonger = start - last.startTime > START_TOLERANCE_SECONDS;
    const from = Math.min(start, startBefore);
    return isLonger && from > final ? Math.min(from, end) : null;
  }
  return start <= end - START_TOLERANCE_SECONDS ? null : Math.min(end, lastUpdateTime);
}

/** By how much the log lags behind the reading at the least, in seconds, as what it does not show yet proves. */
export function logLag(
  reading: MachineStateReading,
  segments: readonly ActivitySegment[],
  published: readonly Pick<Period, 'startTime'>[],
): number {
  const [end, presentStart] = [endOf(segments), durationStart(reading)];
  // A start within the tolerance of the end may be in the log as the end itself.
  const missing = published
    .map(({ startTime }) => startTime)
    .filter((startTime) => startTime > end + START_TOLERANCE_SECONDS);
  const shownUntil = presentStart <= end ? end : Math.min(presentStart, ...missing);
  return Math.max(0, reading.lastUpdateTime - shownUntil);
}

/** The first moment of which the log says nothing. */
function endOf(segments: readonly ActivitySegment[]): number {
  return segments.at(-1)?.endTime ?? -Infinity;
}
