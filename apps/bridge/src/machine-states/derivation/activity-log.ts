import type { ActivityLogEntry, MachineStateReading } from '#libs/cloud-client';
import type { MachineState } from '#libs/contracts';
import type { Period, PublishedPeriod } from './tracked-machine.js';

/** The activity log as read. Times are epoch seconds. */
export interface ActivityLog {
  /** Start of the first window. */
  from: number;
  entries: readonly ActivityLogEntry[];
  /** Start of the wanted history of a new machine; absent if only its present state is wanted. */
  historyFrom?: number;
  /** Earliest time that could be read, if periods before it may be missing. */
  truncatedBefore?: number;
  /** Earliest start of the present state by its duration in the incomplete reads before this one. */
  startBefore?: number;
}

/** A time in one state by the activity log, in epoch seconds; `endTime` is exclusive. */
export interface ActivitySegment {
  state: MachineState;
  startTime: number;
  endTime: number;
}

/** Longest window of one request (interface, Limits). No history is read further back. */
export const LONGEST_WINDOW_SECONDS = 30 * 24 * 3600;

/** The service calculates states by the minute: less than a minute without entries is no gap. */
export const CALCULATION_INTERVAL_SECONDS = 60;

/**
 * Sorts log entries, removes overlaps (the entry that starts later counts) and merges neighbours of one state. A gap
 * of a minute or more remains, so that the state after it is a period of its own.
 */
export function activitySegments(entries: readonly ActivityLogEntry[]): ActivitySegment[] {
  const segments: ActivitySegment[] = [];
  for (const segment of withoutOverlap(sortedEntries(entries))) {
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

/** Sorts entries and drops those of no length, clipped ones. The latest may just have begun: it gets one second. */
function sortedEntries(entries: readonly ActivityLogEntry[]): ActivitySegment[] {
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
  // Entries that have begun, by their start: the last one counts.
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

/** Inaccuracy of `durationInMinutes`: it is rounded, and jitters by a minute (interface: 1 to 2 minutes). */
export const START_TOLERANCE_SECONDS = 120;

/** Start of the state by its duration, in epoch seconds; at least 0, even for a nonsensical duration. */
export function durationStart({ lastUpdateTime, durationInMinutes }: MachineStateReading): number {
  return Math.max(0, lastUpdateTime - Math.max(0, durationInMinutes) * 60);
}

/** Whether the time between is too long to assume that the earlier state lasted. One poll may have failed. */
export function isUnseen(from: number, to: number): boolean {
  return to - from > START_TOLERANCE_SECONDS + 60;
}

/**
 * Segments of the log up to the reading: the service may have calculated another minute between the two answers. A
 * segment that begins in the minute of the reading's update counts as newer unless the reading shows its state, since
 * the update time may be the beginning or the end of its minute.
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

/** The segments as periods; `previousEndTime` is set where minutes are missing. */
export function loggedPeriods(segments: readonly ActivitySegment[]): Period[] {
  return segments.map(({ state, startTime }, index) => {
    const endTime = segments[index - 1]?.endTime ?? startTime;
    const isApart = startTime - endTime >= CALCULATION_INTERVAL_SECONDS;
    const previousEndTime = isApart ? endTime : null;
    return { state, startTime, startTimeSource: 'activityLog', previousEndTime };
  });
}

/**
 * Periods of the log after the settled period `base`, which may have been published a minute or two late. If the log
 * shows another state in its place, that is first. `lastedUntil` is the end of `base` if the log does not show it.
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
  // The log begins within the period: a segment of its state is the rest of it.
  return next.state === base.state ? later : [next, ...later];
}

/**
 * Periods of the log from the first published one on, which may need a correction itself. The first is its state up
 * to two minutes later, else up to two minutes earlier and before a gap, else the segment at its start.
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

/** Index of the published period in the log, or -1. A start estimated from a duration may be two minutes off. */
function indexOfPublished(
  { state, startTime }: PublishedPeriod,
  segments: readonly ActivitySegment[],
): number {
  const distance = (segment: ActivitySegment): number => Math.abs(segment.startTime - startTime);
  const [nearest] = segments
    .filter((it) => it.state === state && distance(it) <= START_TOLERANCE_SECONDS)
    .sort((a, b) => distance(a) - distance(b));
  if (nearest !== undefined) return segments.indexOf(nearest);
  return segments.findIndex(
    (it) => it.state === state && it.startTime <= startTime && startTime < it.endTime,
  );
}

/**
 * Epoch seconds up to which the log is final. Only the service's own updates count as its time: while it stands
 * still, nothing becomes final, however long that lasts by our clock.
 */
export function finalUntil(
  { lastUpdateTime }: MachineStateReading,
  { settleSeconds }: { settleSeconds: number },
): number {
  return lastUpdateTime - settleSeconds;
}

/** Epoch seconds up to which the log is settled. Beyond its end the log corrects and confirms nothing. */
export function settledPart(final: number, segments: readonly ActivitySegment[]): number {
  return Math.min(final, endOf(segments) - 1);
}

/**
 * Epoch seconds from which the log does not explain the reading yet; null when it explains all of it. If the duration
 * reaches back well into the log, the state has lasted since. If by its duration the state began well after its start
 * in the log, there was another state, which the log may still show for starts after `final`.
 *
 * @param final epoch seconds up to which the log is final
 * @param startBefore {@link ActivityLog.startBefore}: if the duration does not grow, its start never becomes final
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

/** Minimum lag of the log behind the reading, in seconds, as proved by the periods that it does not show yet. */
export function logLag(
  reading: MachineStateReading,
  segments: readonly ActivitySegment[],
  published: readonly Pick<Period, 'startTime'>[],
): number {
  const [end, presentStart] = [endOf(segments), durationStart(reading)];
  // A start within the tolerance of the end may be the log's end itself.
  const missing = published
    .map(({ startTime }) => startTime)
    .filter((startTime) => startTime > end + START_TOLERANCE_SECONDS);
  const shownUntil = presentStart <= end ? end : Math.min(presentStart, ...missing);
  return Math.max(0, reading.lastUpdateTime - shownUntil);
}

/** End of the last segment, in epoch seconds. */
function endOf(segments: readonly ActivitySegment[]): number {
  return segments.at(-1)?.endTime ?? -Infinity;
}
