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

/** Extra time before the wanted start, so that a start at the window's edge is known to be clipped. */
const MARGIN_SECONDS = 600;

/**
 * `news`: the reading shows periods not known yet, and the poll waits for the log. `overdue`: an earlier read failed
 * or was incomplete. `confirmation`: published periods are compared with the final log.
 */
type LogPurpose = 'news' | 'overdue' | 'confirmation';

/** The part of the activity log to read, in epoch seconds, and the purpose of the read. */
export interface LogRequest extends Omit<ActivityLog, 'entries'> {
  to: number;
  purpose: LogPurpose;
  /** Periods from this time on may be missing until the log is read. */
  missingFrom: number;
}

export interface LogNeedContext extends Freshness {
  settleSeconds: number;
  backfillOnFirstStartSeconds: number;
}

/** Results of this process's earlier polls of the machine. */
export interface EarlierPolls {
  /** Start of the state by the latest duration, in epoch seconds; null before the first poll. */
  durationStart: number | null;
  /** Whether the pause after an incomplete or failed read is over. */
  isLogDue: boolean;
}

/** The part of the log that the poll must read; null when the reading is enough. */
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
  // After a crash between corrections, the periods may be out of order.
  const oldest = Math.min(...tracked.periods.map(({ startTime }) => startTime));
  const missingFrom = tracked.unreadFrom ?? tracked.lastUpdateTime ?? oldest;
  const isSettled = settledUntil(tracked) !== -Infinity;
  if (!isSettled && missingFrom < oldest) {
    // The history before the first period is still to be read.
    const from = Math.max(0, missingFrom - MARGIN_SECONDS);
    return { from, to, purpose, missingFrom, historyFrom: missingFrom };
  }
  // The service may have revised the minute in which the machine was first seen: its state then began earlier.
  const start = Math.min(oldest, isSettled ? Infinity : durationStart(reading));
  const [wanted, possible] = [start - MARGIN_SECONDS, to - LONGEST_WINDOW_SECONDS];
  const request = { from: Math.max(wanted, possible), to, purpose, missingFrom };
  return wanted < possible && missingFrom < possible
    ? { ...request, truncatedBefore: possible }
    : request;
}

/** Also covers the time since `lostSince` of a machine that was lost before its first reading. */
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
 * Whether a state may have come and gone between polls. The current state, by its duration, then began after the
 * latest known update, or later than by the previous duration (after a restart: than its published start).
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

/** Whether the log has become final for a published start that is not settled yet. */
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
