import type { MachineStateReading } from '#libs/cloud-client';
import {
  type ActivityLog,
  CALCULATION_INTERVAL_SECONDS,
  durationStart,
  finalUntil,
  LONGEST_WINDOW_SECONDS,
  START_TOLERANCE_SECONDS,
} from './activity-log.js';
import {
  currentPeriod,
  type Freshness,
  isOlderThanKnown,
  isStale,
  settledUntil,
  type TrackedMachine,
} from './tracked-machine.js';

/** Asked for before the start in question, so that a start at the window's edge is known to be clipped. */
const MARGIN_SECONDS = 600;

/** `news` may be new, and is worth waiting for; `overdue` was missed before; `confirmation` is of what is published. */
type LogPurpose = 'news' | 'overdue' | 'confirmation';

/** What to read of the activity log, in epoch seconds, and what the answer is to be taken for. */
export interface LogRequest extends Omit<ActivityLog, 'entries'> {
  to: number;
  purpose: LogPurpose;
  /** From when on periods may be missing until it is read. */
  missingFrom: number;
}

export interface LogNeedContext extends Freshness {
  settleSeconds: number;
  backfillOnFirstStartSeconds: number;
}

/** What this process knows of its earlier polls of the machine. */
export interface EarlierPolls {
  /** Start of the state as the latest duration had it, in epoch seconds; null before the first poll. */
  durationStart: number | null;
  /** Whether a log that was asked for in vain is to be asked for again by now. */
  isLogDue: boolean;
}

/** What must be read of the log, or null when the reading says enough. */
export function activityLogNeed(
  tracked: TrackedMachine | undefined,
  reading: MachineStateReading,
  earlier: EarlierPolls,
  context: LogNeedContext,
): LogRequest | null {
  if (tracked === undefined || tracked.periods.length === 0) {
    return forFirstPeriods(tracked?.lostSince ?? null, reading, context);
  }
  if (isOlderThanKnown(tracked, reading)) return null;
  const purpose = purposeOf(tracked, reading, earlier, context);
  if (purpose === null) return null;
  const to = Math.max(context.now, reading.lastUpdateTime);
  // Where the process died amid corrections, the first need not be the oldest.
  const oldest = Math.min(...tracked.periods.map(({ startTime }) => startTime));
  const missingFrom = tracked.unreadFrom ?? tracked.lastUpdateTime ?? oldest;
  if (settledUntil(tracked) === -Infinity && missingFrom < oldest) {
    // The history before the first period is still to be read.
    const from = Math.max(0, missingFrom - MARGIN_SECONDS);
    return { from, to, purpose, missingFrom, historyFrom: missingFrom };
  }
  // The service may have revised the minute that the machine was first seen in: then the present state began before.
  const isSettled = settledUntil(tracked) !== -Infinity;
  const start = Math.min(oldest, isSettled ? Infinity : durationStart(reading));
  const [wanted, possible] = [start - MARGIN_SECONDS, to - LONGEST_WINDOW_SECONDS];
  const request = { from: Math.max(wanted, possible), to, purpose, missingFrom };
  return wanted < possible && missingFrom < possible
    ? { ...request, truncatedBefore: possible }
    : request;
}

/** A machine that is lost since it was first seen has that time published as well. */
function forFirstPeriods(
  lostSince: number | null,
  reading: MachineStateReading,
  { now, backfillOnFirstStartSeconds }: LogNeedContext,
): LogRequest {
  const to = Math.max(now, reading.lastUpdateTime);
  const possible = to - LONGEST_WINDOW_SECONDS;
  const presentFrom = Math.max(durationStart(reading) - MARGIN_SECONDS, possible);
  const wanted = [
    ...(backfillOnFirstStartSeconds === 0 ? [] : [now - backfillOnFirstStartSeconds]),
    ...(lostSince === null ? [] : [Math.max(lostSince, possible)]),
  ];
  const purpose = 'news';
  if (wanted.length === 0) {
    return { from: presentFrom, to, purpose, missingFrom: reading.lastUpdateTime };
  }
  const historyFrom = Math.max(0, Math.min(...wanted));
  const from = Math.max(0, Math.min(presentFrom, historyFrom - MARGIN_SECONDS));
  return {
    from,
    to,
    purpose,
    missingFrom: historyFrom,
    historyFrom,
    ...(lostSince !== null && lostSince < historyFrom && { truncatedBefore: historyFrom }),
  };
}

function purposeOf(
  tracked: TrackedMachine,
  reading: MachineStateReading,
  earlier: EarlierPolls,
  context: LogNeedContext,
): LogPurpose | null {
  if (mayHaveNews(tracked, reading, earlier, context)) return 'news';
  if (!earlier.isLogDue) return null;
  if (tracked.unreadFrom !== null) return 'overdue';
  return isToBeConfirmed(tracked, reading, context) ? 'confirmation' : null;
}

function mayHaveNews(
  tracked: TrackedMachine,
  reading: MachineStateReading,
  earlier: EarlierPolls,
  context: LogNeedContext,
): boolean {
  return (
    (tracked.observation !== 'ok' && !isStale(reading, context)) ||
    reading.state !== currentPeriod(tracked)?.state ||
    mayHaveMissedPeriods(tracked, reading, earlier)
  );
}

/**
 * A state that came and went shows in the duration: the current one then began after the latest update known
 * before, or later than a poll before had it, or, after a restart, than it was published.
 */
function mayHaveMissedPeriods(
  tracked: TrackedMachine,
  reading: MachineStateReading,
  earlier: EarlierPolls,
): boolean {
  const start = durationStart(reading);
  const knownUntil = tracked.lastUpdateTime ?? -Infinity;
  const startBefore = earlier.durationStart ?? currentPeriod(tracked)?.startTime ?? -Infinity;
  const isNextMinute = reading.lastUpdateTime - knownUntil <= CALCULATION_INTERVAL_SECONDS;
  return (
    (!isNextMinute && start > knownUntil - START_TOLERANCE_SECONDS) ||
    start - startBefore > START_TOLERANCE_SECONDS
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
