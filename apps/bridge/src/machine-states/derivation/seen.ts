import { type MachineStateReading } from '#libs/cloud-client';
import { CALCULATION_INTERVAL_SECONDS } from './activity-segments.js';
import { durationStart } from './duration-start.js';
import { type ActivityLog, segmentsUpTo } from './logged-periods.js';
import { isBehindForGood } from './settled-log.js';
import { type TrackedMachine } from './tracked-machine.js';

/** What this process has seen of a machine; nothing before its first poll. */
export interface Seen {
  /** Epoch seconds up to which no period can have been missed. */
  knownUntil: number;
  /** Start of the state as its duration had it, in epoch seconds. */
  durationStart: number;
  /** Whether there may be news in a log that could not be read: it is asked for until it can be. */
  isUnread: boolean;
}

/** Before the first poll of a process it is what was seen by the one before. */
export function knownUntil(tracked: TrackedMachine, seen: Seen | null): number {
  return seen?.knownUntil ?? tracked.lastUpdateTime ?? -Infinity;
}

/** What has been seen once reading and log have been taken into account. */
export function seenAfter(
  reading: MachineStateReading,
  log: ActivityLog | null,
  before: Seen | null,
): Seen {
  const { lastUpdateTime, state } = reading;
  const known = seenUpTo(lastUpdateTime, reading);
  const last = log === null ? undefined : segmentsUpTo(reading, log).at(-1);
  if (last === undefined || isBehindForGood(reading, last.endTime)) return known;
  const reachesReading =
    last.state === state && lastUpdateTime - last.endTime <= CALCULATION_INTERVAL_SECONDS;
  if (reachesReading) return known;
  return {
    ...known,
    knownUntil: Math.max(before?.knownUntil ?? 0, Math.min(last.endTime, lastUpdateTime)),
    durationStart: Math.min(before?.durationStart ?? Infinity, known.durationStart),
  };
}

/**
 * What has been seen once a reading alone has been taken into account, and not the log that may have
 * news: no more than before. A machine that was never seen before begins with the reading.
 *
 * @param tracked what was remembered before the reading
 */
export function seenWithoutLog(
  reading: MachineStateReading,
  tracked: TrackedMachine | undefined,
  before: Seen | null,
): Seen {
  const isFirst = tracked === undefined || tracked.periods.length === 0;
  const until = isFirst ? reading.lastUpdateTime : knownUntil(tracked, before);
  return { ...seenUpTo(until, reading), isUnread: true };
}

function seenUpTo(time: number, reading: MachineStateReading): Seen {
  return { knownUntil: time, durationStart: durationStart(reading), isUnread: false };
}
