import type { MachineStateReading } from '#libs/cloud-client';
import {
  type ActivityLog,
  type ActivitySegment,
  CALCULATION_INTERVAL_SECONDS,
  durationStart,
  isUnseen,
  loggedAfter,
  loggedFrom,
  loggedPeriods,
  START_TOLERANCE_SECONDS,
} from './activity-log.js';
import { type ChainedPeriod, type LoggedPeriods, periodChain } from './period-chain.js';
import {
  currentPeriod,
  type Period,
  type PublishedPeriod,
  settledUntil,
  type TrackedMachine,
} from './tracked-machine.js';

/** Periods to publish, and the published period before them, which stays unchanged; null if there is none. */
export interface PeriodsToPublish {
  before: PublishedPeriod | null;
  chain: readonly ChainedPeriod[];
}

/** The log up to the reading, in epoch seconds. */
export interface LogUpToReading {
  /** Null when none was read. */
  log: ActivityLog | null;
  segments: readonly ActivitySegment[];
  /** Time up to which the log is final. */
  settledTime: number;
}

/** Combines published periods, log and reading: the log decides about the past, the reading about the present. */
export function periodsToPublish(
  tracked: TrackedMachine,
  reading: MachineStateReading,
  logged: LogUpToReading,
): PeriodsToPublish {
  if (tracked.periods.length > 0) return periodsAfter(tracked, reading, logged);
  const chain = firstPeriods(reading, logged).map(asUnpublished);
  return { before: null, chain };
}

function asUnpublished(period: Period): ChainedPeriod {
  return { published: null, period };
}

function periodsAfter(
  tracked: TrackedMachine,
  reading: MachineStateReading,
  logUpToReading: LogUpToReading,
): PeriodsToPublish {
  const { log, segments, settledTime } = logUpToReading;
  const { periods } = tracked;
  const from = log?.from ?? -Infinity;
  const isBeyondQuestion = ({ startTime }: PublishedPeriod): boolean =>
    startTime <= settledUntil(tracked) || startTime < from;
  const last = periods.findLastIndex(isBeyondQuestion);
  const [before, open] = [periods[last] ?? null, periods.slice(last + 1)];
  const logged = loggedFor(tracked, reading, before, open[0], logUpToReading);
  const chain = periodChain(open, logged, before, settledTime);
  const [latest, lastLogged] = [chain.at(-1), segments.at(-1)];
  const latestPeriod = latest?.period ?? before;
  if (latestPeriod === null) return { before, chain };
  // The log may have replaced the state that polls saw; they did not see its replacement.
  const isAsSeen =
    latest?.published !== null && latestPeriod.state === currentPeriod(tracked)?.state;
  const seenUntil = Math.max(
    isAsSeen ? (tracked.lastUpdateTime ?? tracked.unreadFrom ?? reading.lastUpdateTime) : 0,
    lastLogged?.endTime ?? 0,
  );
  const settled = Math.max(
    settledUntil(tracked),
    Math.min(settledTime, reading.lastUpdateTime - 1),
  );
  const present = presentPeriod(reading, latestPeriod, lastLogged, seenUntil, settled);
  const beforeLatest = chain.at(-2)?.period ?? before;
  if (present === undefined) {
    return { before, chain: withWholePresent(chain, beforeLatest, reading, log) };
  }
  const isDenied =
    latest?.published?.state === present.state &&
    latest.period.state !== present.state &&
    latest.period.startTime === beforeLatest?.startTime;
  if (!isDenied) return { before, chain: [...chain, asUnpublished(present)] };
  // The settled log denies the present state, but the reading still shows it: the published period was right but
  // began later. It moves to the log's end if that is settled or agrees with the duration, as in a log of finished
  // periods; else to the reading, so that the log does not deny it again before it has settled once more.
  const { lastUpdateTime } = reading;
  const end = lastLogged?.endTime ?? lastUpdateTime;
  const isBegun = Math.abs(end - durationStart(reading)) <= START_TOLERANCE_SECONDS;
  const startTime = isBegun ? Math.min(end, lastUpdateTime) : lastUpdateTime;
  const isOver = lastLogged !== undefined && end <= settledTime + 1;
  const period = isOver ? present : { ...present, startTime };
  return { before, chain: [...chain.slice(0, -1), { published: latest.published, period }] };
}

/** Logged periods to compare with the published ones, and the end of the log; null when it says nothing about them. */
function loggedFor(
  tracked: TrackedMachine,
  reading: MachineStateReading,
  before: PublishedPeriod | null,
  first: PublishedPeriod | undefined,
  { log, segments, settledTime }: LogUpToReading,
): LoggedPeriods | null {
  const until = segments.at(-1)?.endTime;
  if (until === undefined) return null;
  if (before !== null) {
    const lastedUntil =
      first === undefined
        ? lastedAtLeast(tracked, reading, before)
        : (first.previousEndTime ?? first.startTime);
    const periods = loggedAfter(before, segments, lastedUntil);
    return { periods: unsettledPart(periods, before, settledUntil(tracked)), until };
  }
  if (first === undefined) return null;
  // Until the log shows the first period, its segments are from before the first observation.
  const historyFrom = log?.historyFrom;
  const isYetToBeShown =
    historyFrom === undefined &&
    first.startTime > settledTime &&
    until <= first.startTime + START_TOLERANCE_SECONDS &&
    !segments.some(
      ({ state, endTime }) =>
        state === first.state && endTime > first.startTime - CALCULATION_INTERVAL_SECONDS,
    );
  if (isYetToBeShown) return null;
  const periods =
    historyFrom === undefined ? loggedFrom(first, segments) : wantedHistory(segments, log);
  return { periods, until };
}

/** Epoch seconds until which the latest published period lasted without a log, by polls or the reading's duration. */
function lastedAtLeast(
  { lastUpdateTime, lostSince }: TrackedMachine,
  reading: MachineStateReading,
  latest: PublishedPeriod,
): number {
  const seenUntil = lastUpdateTime ?? lostSince ?? latest.startTime;
  const isVouchedFor =
    reading.state === latest.state && !isUnseen(seenUntil, durationStart(reading));
  return isVouchedFor ? reading.lastUpdateTime : seenUntil;
}

/** Clips logged periods to the unsettled time: settled periods stay as published, even if the service rewrites them. */
function unsettledPart(periods: Period[], before: Period, settledTime: number): Period[] {
  const from = Math.max(settledTime, before.startTime) + 1;
  const first = periods.findLastIndex(({ startTime }) => startTime <= from);
  const [last, later] = [periods[first], periods.slice(first + 1)];
  if (last === undefined) return later;
  const [next, ...others] = later;
  const endTime = next?.previousEndTime ?? null;
  if (next !== undefined && endTime !== null && endTime <= from) {
    // The clipped period ended before `from`.
    return [{ ...next, previousEndTime: Math.max(endTime, before.startTime) }, ...others];
  }
  if (last.state === before.state && last.previousEndTime === null) return later;
  return [{ ...last, startTime: from }, ...later];
}

/** First periods of a new machine: its history, if wanted, and its present state. */
function firstPeriods(reading: MachineStateReading, { log, segments }: LogUpToReading): Period[] {
  const history = wantedHistory(segments, log);
  const [latest, last] = [history.at(-1), segments.at(-1)];
  if (latest === undefined) return [presentAlone(reading, last, log)];
  const present = presentPeriod(reading, latest, last, last?.endTime ?? reading.lastUpdateTime);
  if (present !== undefined) return [...history, present];
  return history.length > 1 ? history : [presentAlone(reading, last, log)];
}

/** Logged periods from the one in progress at `historyFrom`. */
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
  const period = { state, previousEndTime: null };
  const estimated = durationStart(reading);
  // A log that lags may end in an earlier period of the same state, before minutes without data.
  if (log === null || last?.state !== state || isUnseen(last.endTime, estimated)) {
    const startTime = Math.max(estimated, otherStateUntil(reading, last));
    return { ...period, startTime, startTimeSource: 'duration' };
  }
  const { startTime } = last;
  return wholePresent({ ...period, startTime, startTimeSource: 'activityLog' }, 0, reading, log);
}

/** The present period. If the log's window cut off its beginning, it starts as its duration says. */
function wholePresent(
  period: Period,
  notBefore: number,
  reading: MachineStateReading,
  log: ActivityLog,
): Period {
  if (period.state !== reading.state || !isClipped(period, log)) return period;
  const startTime = Math.min(period.startTime, Math.max(durationStart(reading), notBefore));
  return { ...period, startTime, startTimeSource: 'duration' };
}

/** {@link wholePresent} of the last period of a chain, which starts no earlier than the end of the gap before it. */
function withWholePresent(
  chain: readonly ChainedPeriod[],
  before: Period | null,
  reading: MachineStateReading,
  log: ActivityLog | null,
): readonly ChainedPeriod[] {
  const latest = chain.at(-1);
  const seenUntil = latest?.period.previousEndTime ?? null;
  if (latest?.published !== null || log === null || seenUntil === null) return chain;
  const afterBefore = (before?.startTime ?? 0) + CALCULATION_INTERVAL_SECONDS;
  const present = wholePresent(latest.period, Math.max(seenUntil, afterBefore), reading, log);
  if (present === latest.period) return chain;
  const previousEndTime = isUnseen(seenUntil, present.startTime) ? seenUntil : null;
  return chain.with(-1, asUnpublished({ ...present, previousEndTime }));
}

/** Start of the published history, in epoch seconds, if its first period began before that. */
export function historyEdge(
  { chain }: PeriodsToPublish,
  log: ActivityLog | null,
): number | undefined {
  const first = chain[0]?.period;
  const isCut = first !== undefined && log?.historyFrom !== undefined && isClipped(first, log);
  return isCut ? first.startTime : undefined;
}

/** Whether the window's edge, or the minute of that edge, cuts off the beginning of the period. */
function isClipped({ startTime }: { startTime: number }, { from }: ActivityLog): boolean {
  return startTime <= from && from - startTime < CALCULATION_INTERVAL_SECONDS;
}

/** The log may lag behind the current state, or disagree with it, for this long. */
const LOG_LAG_SECONDS = 120;

/** Epoch seconds until which the log shows another state than the present one; 0 if it shows none. */
function otherStateUntil(
  { state, lastUpdateTime }: MachineStateReading,
  last: ActivitySegment | undefined,
): number {
  return last === undefined || last.state === state
    ? 0
    : Math.min(last.endTime, lastUpdateTime - LOG_LAG_SECONDS);
}

/**
 * Period of the present state; undefined if it continues the latest period. An unobserved time between them begins
 * another period. The start comes from the log, or else from the duration within the limits of the log and
 * `settledTime`, and is never later than the reading's update.
 *
 * @param seenUntil epoch seconds of the latest update before this one, or of the log's end
 * @param settledTime epoch seconds up to which no period may be added
 */
function presentPeriod(
  reading: MachineStateReading,
  latest: Pick<Period, 'state' | 'startTime'>,
  lastLogged: ActivitySegment | undefined,
  seenUntil: number,
  settledTime = -Infinity,
): Period | undefined {
  const { state, lastUpdateTime } = reading;
  const estimated = durationStart(reading);
  const isSame = latest.state === state;
  if (isSame && !isUnseen(seenUntil, estimated)) return undefined;
  if (Math.max(latest.startTime, settledTime) >= lastUpdateTime) return undefined;
  if (!isSame && lastLogged?.state === state && lastLogged.startTime > latest.startTime) {
    const { startTime } = lastLogged;
    return { state, startTime, startTimeSource: 'activityLog', previousEndTime: null };
  }
  const startTime = Math.max(
    estimated,
    otherStateUntil(reading, lastLogged),
    settledTime + 1,
    Math.min(latest.startTime + CALCULATION_INTERVAL_SECONDS, lastUpdateTime),
  );
  const previousEndTime = isUnseen(seenUntil, startTime)
    ? Math.max(seenUntil, latest.startTime)
    : null;
  return { state, startTime, startTimeSource: 'duration', previousEndTime };
}
