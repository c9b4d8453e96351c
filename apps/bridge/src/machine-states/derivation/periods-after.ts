import { type MachineStateReading } from '#libs/cloud-client';
import { type ActivitySegment } from './activity-segments.js';
import { alignPeriods, type Pair } from './align-periods.js';
import { loggedAfter, loggedFrom } from './logged-periods.js';
import { type Link, periodChain } from './period-chain.js';
import { presentPeriod } from './present-period.js';
import { type PublishedPeriod } from './published-period.js';
import { settledUntil, type TrackedMachine } from './tracked-machine.js';

/** What is to be told from now on, and the published period before it that stays as it is, if any. */
export interface PeriodsToTell {
  before: PublishedPeriod | null;
  chain: readonly Link[];
}

/** The log up to the reading, in epoch seconds: where it was read from, and where it is final up to. */
export interface LogUpToReading {
  segments: readonly ActivitySegment[];
  from: number;
  settledTime: number;
}

/** Of a poll that read no log. */
export const NO_LOG: LogUpToReading = { segments: [], from: -Infinity, settledTime: -Infinity };

/**
 * The periods of a machine that was observed before, with those that the log has in addition, and the
 * present one. The log decides about the past, the reading about the present.
 */
export function periodsAfter(
  tracked: TrackedMachine,
  reading: MachineStateReading,
  { segments, from, settledTime }: LogUpToReading,
): PeriodsToTell {
  const { periods } = tracked;
  const isBeyondQuestion = ({ startTime }: PublishedPeriod): boolean =>
    startTime <= settledUntil(tracked) || startTime < from;
  const last = periods.findLastIndex(isBeyondQuestion);
  const [before, open] = [periods[last] ?? null, periods.slice(last + 1)];
  const chain = periodChain(pairsWith(segments, open, before), before, settledTime);
  const latest = chain.at(-1)?.period ?? before;
  const present = latest === null ? undefined : presentPeriod(reading, latest, segments.at(-1));
  if (present !== undefined) chain.push({ published: null, period: present });
  return { before, chain };
}

function pairsWith(
  segments: readonly ActivitySegment[],
  open: readonly PublishedPeriod[],
  before: PublishedPeriod | null,
): Pair[] {
  const [first] = open;
  const until = segments.at(-1)?.endTime;
  if (until === undefined) return open.map((published) => ({ published, logged: null }));
  if (before !== null) {
    return alignPeriods(open, { periods: loggedAfter(before, segments), until }, before);
  }
  if (first === undefined) return [];
  return alignPeriods(open, { periods: loggedFrom(first, segments), until }, null);
}
