import type { MachineStateReading } from '#libs/cloud-client';
import type { ActivitySegment } from './activity-segments.js';
import { alignPeriods, type AlignedPeriod } from './align-periods.js';
import { durationStart, isUnseen } from './duration-start.js';
import { loggedAfter, loggedFrom, loggedPeriods } from './logged-periods.js';
import { asUnpublished, type ChainedPeriod, periodChain } from './period-chain.js';
import { presentPeriod } from './present-period.js';
import type { Period, PublishedPeriod } from './published-period.js';
import { settledUntil, type TrackedMachine } from './tracked-machine.js';

/** What is to be published from now on, and the published period before it that stays as it is, if any. */
export interface PeriodsToPublish {
  before: PublishedPeriod | null;
  chain: readonly ChainedPeriod[];
}

/** The log up to the reading, in epoch seconds; without segments when none was read. */
export interface LogUpToReading {
  segments: readonly ActivitySegment[];
  /** Where it was read from. */
  from: number;
  /** From when on it is wanted even though the first published period began later. */
  historyFrom: number | undefined;
  /** What it is final up to. */
  settledTime: number;
}

/**
 * The periods of a machine that was observed before, with those that the log has in addition, and the
 * present one. The log decides about the past, the reading about the present.
 *
 * @param tracked what was remembered before the reading
 */
export function periodsAfter(
  tracked: TrackedMachine,
  reading: MachineStateReading,
  log: LogUpToReading,
): PeriodsToPublish {
  const { periods } = tracked;
  const { segments, from, settledTime } = log;
  const isBeyondQuestion = ({ startTime }: PublishedPeriod): boolean =>
    startTime <= settledUntil(tracked) || startTime < from;
  const last = periods.findLastIndex(isBeyondQuestion);
  const [before, open] = [periods[last] ?? null, periods.slice(last + 1)];
  const logged = loggedFor(tracked, reading, before, open, log);
  const chain = periodChain(pairsWith(open, logged, before), before, settledTime);
  const [latest, lastLogged] = [chain.at(-1), segments.at(-1)];
  const latestPeriod = latest?.period ?? before;
  if (latestPeriod === null) return { before, chain };
  const seenUntil = Math.max(
    tracked.lastUpdateTime ?? reading.lastUpdateTime,
    lastLogged?.endTime ?? 0,
  );
  const settled = settledUntil(tracked);
  const present = presentPeriod(reading, latestPeriod, lastLogged, seenUntil, settled);
  if (present === undefined) return { before, chain };
  const beforeLatest = chain.at(-2)?.period ?? before;
  const isDenied =
    latest?.published?.state === present.state &&
    latest.period.state !== present.state &&
    latest.period.startTime === beforeLatest?.startTime;
  if (!isDenied) return { before, chain: [...chain, asUnpublished(present)] };
  // The settled log has nothing in place of what the reading goes on to say: it was right, but later. From now,
  // so that it is not denied again before the log has settled once more.
  const period = { ...present, startTime: reading.lastUpdateTime };
  return { before, chain: [...chain.slice(0, -1), { published: latest.published, period }] };
}

/** What the log has of the time that is in question, and where it ends; null when it says nothing. */
function loggedFor(
  tracked: TrackedMachine,
  reading: MachineStateReading,
  before: PublishedPeriod | null,
  [first]: readonly PublishedPeriod[],
  { segments, historyFrom }: LogUpToReading,
): { periods: Period[]; until: number } | null {
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
  const periods =
    historyFrom === undefined
      ? loggedFrom(first, segments)
      : loggedPeriods(segments.filter(({ endTime }) => endTime > historyFrom));
  return { periods, until };
}

/** How long the latest published period is known to have lasted without a log; its duration may vouch for more. */
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

/**
 * What was settled stays as it was published, though the service may rewrite it later: what it rewrote counts
 * from then on.
 */
function unsettledPart(periods: Period[], before: Period, settledTime: number): Period[] {
  const settled = periods.findLastIndex(({ startTime }) => startTime <= settledTime);
  const [held, later] = [periods[settled], periods.slice(settled + 1)];
  if (held === undefined || held.state === before.state) return later;
  return [{ ...held, startTime: settledTime + 1, previousEndTime: null }, ...later];
}

function pairsWith(
  open: readonly PublishedPeriod[],
  logged: { periods: Period[]; until: number } | null,
  before: PublishedPeriod | null,
): AlignedPeriod[] {
  return logged === null
    ? open.map((published) => ({ published, logged: null }))
    : alignPeriods(open, logged, before);
}
