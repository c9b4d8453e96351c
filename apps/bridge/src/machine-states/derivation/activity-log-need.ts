import { type MachineStateReading } from '#libs/cloud-client';
import { CALCULATION_INTERVAL_SECONDS } from './activity-segments.js';
import { durationStart, START_TOLERANCE_SECONDS } from './duration-start.js';
import { type ActivityLog } from './logged-periods.js';
import { isStale } from './observation.js';
import { knownUntil, type Seen } from './seen.js';
import { finalUntil, type SettleContext } from './settled-log.js';
import { currentPeriod, settledUntil, type TrackedMachine } from './tracked-machine.js';

/** Asked for before the start in question, so that a start at the window's edge is known to be clipped. */
const MARGIN_SECONDS = 600;

/** Interface, Limits: what one request answers for; history is made up for no further back. */
const LONGEST_GAP_SECONDS = 30 * 24 * 3600;

/** What to read of the activity log, in epoch seconds, and what the answer is to be taken for. */
export interface LogRequest extends Omit<ActivityLog, 'entries'> {
  to: number;
  /** Whether something may be new, rather than to be confirmed: that is worth waiting for. */
  isForNews: boolean;
}

export interface LogNeedContext extends SettleContext {
  backfillOnFirstStartSeconds: number;
}

/** What must be read of the log, or null when the reading says enough. */
export function activityLogNeed(
  tracked: TrackedMachine | undefined,
  reading: MachineStateReading,
  seen: Seen | null,
  context: LogNeedContext,
): LogRequest | null {
  const oldest = tracked?.periods[0];
  if (tracked === undefined || oldest === undefined) {
    return forFirstPeriods(tracked?.lostSince ?? null, reading, context);
  }
  const isForNews = mayHaveNews(tracked, reading, seen, context);
  if (!isForNews && !isToBeConfirmed(tracked, reading, context)) return null;
  const to = Math.max(context.now, reading.lastUpdateTime);
  const [wanted, possible] = [oldest.startTime - MARGIN_SECONDS, to - LONGEST_GAP_SECONDS];
  const request = { from: Math.max(wanted, possible), to, isForNews };
  return wanted < possible && knownUntil(tracked, seen) < possible
    ? { ...request, truncatedBefore: possible }
    : request;
}

/** A machine that has been lost ever since it was first seen tells what has happened since. */
function forFirstPeriods(
  lostSince: number | null,
  reading: MachineStateReading,
  { now, backfillOnFirstStartSeconds }: LogNeedContext,
): LogRequest {
  const to = Math.max(now, reading.lastUpdateTime);
  const possible = to - LONGEST_GAP_SECONDS;
  const presentFrom = Math.max(durationStart(reading) - MARGIN_SECONDS, possible);
  const wanted = [
    ...(backfillOnFirstStartSeconds === 0 ? [] : [now - backfillOnFirstStartSeconds]),
    ...(lostSince === null ? [] : [Math.max(lostSince, possible)]),
  ];
  if (wanted.length === 0) return { from: presentFrom, to, isForNews: true };
  const historyFrom = Math.max(0, Math.min(...wanted));
  const from = Math.max(0, Math.min(presentFrom, historyFrom - MARGIN_SECONDS));
  return {
    from,
    to,
    isForNews: true,
    historyFrom,
    ...(lostSince !== null && lostSince < historyFrom && { truncatedBefore: historyFrom }),
  };
}

function mayHaveNews(
  tracked: TrackedMachine,
  reading: MachineStateReading,
  seen: Seen | null,
  context: LogNeedContext,
): boolean {
  return (
    (tracked.observation !== 'ok' && !isStale(reading, context)) ||
    reading.state !== currentPeriod(tracked)?.state ||
    (seen === null
      ? !hasGoneOn(tracked, reading)
      : seen.isUnread || mayHaveMissedPeriods(reading, seen))
  );
}

/**
 * Whether the duration alone says, after a restart, that the published state has gone on ever since: what
 * came and went later than what had been seen of it would show, except right after its start.
 */
function hasGoneOn(tracked: TrackedMachine, reading: MachineStateReading): boolean {
  const current = currentPeriod(tracked);
  const { lastUpdateTime } = tracked;
  if (current === null || lastUpdateTime === null || tracked.observation !== 'ok') return false;
  const { startTime } = current;
  return (
    lastUpdateTime - startTime >= 2 * START_TOLERANCE_SECONDS &&
    Math.abs(durationStart(reading) - startTime) <= START_TOLERANCE_SECONDS
  );
}

/**
 * A state that came and went shows in the duration: the current one then began after `knownUntil`, or
 * later than a poll before had it.
 */
function mayHaveMissedPeriods(reading: MachineStateReading, seen: Seen): boolean {
  const start = durationStart(reading);
  const isNextMinute = reading.lastUpdateTime - seen.knownUntil <= CALCULATION_INTERVAL_SECONDS;
  return (
    (!isNextMinute && start > seen.knownUntil - START_TOLERANCE_SECONDS) ||
    start - seen.durationStart > START_TOLERANCE_SECONDS
  );
}

/** A start was published from a log that could still change, and no longer can. */
function isToBeConfirmed(
  tracked: TrackedMachine,
  reading: MachineStateReading,
  context: LogNeedContext,
): boolean {
  const final = finalUntil(reading, context);
  return tracked.periods.some(
    ({ startTime }) => startTime > settledUntil(tracked) && startTime <= final,
  );
}
