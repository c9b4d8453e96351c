import { isDeepStrictEqual } from 'node:util';
import type { MachineInfo, MachineStateReading } from '#libs/cloud-client';
import type {
  MachineState,
  MachineStateRecord,
  ObservationLossReason,
  StateChanged,
} from '#libs/contracts';

/** A stretch of one state; it lasts until the next one begins. Times are epoch seconds. */
export interface Period {
  state: MachineState;
  startTime: number;
  startTimeSource: StateChanged['startTimeSource'];
  /** Where the period before ended, if minutes without data lie between it and this one; else null. */
  previousEndTime: number | null;
}

/** A period as the latest of its events has it. */
export interface PublishedPeriod extends Period {
  previousState: MachineState | null;
  previousStartTime: number | null;
  revision: number;
}

/** What a `ce_id` is made of, besides the machine. */
export type EventIdentity = Pick<PublishedPeriod, 'state' | 'startTime' | 'revision'>;

export type Observation = 'ok' | ObservationLossReason;

/** All that is remembered of a machine: enough to go on after a restart without a double or a gap. */
export interface TrackedMachine {
  version: 2;
  machineId: string;
  displayName: string;
  factoryId: string;
  factoryName: string;
  /** What may still be corrected, in order, behind one that will not be; the last is the present one. */
  periods: readonly PublishedPeriod[];
  /** Periods published of late and corrected since: their ids must not be used again. */
  replaced: readonly EventIdentity[];
  /** Epoch seconds up to which published starts agree with a log that will not change any more. */
  settledUntil: number | null;
  /** Epoch seconds from which periods may be missing until the log has been read; null while nothing is. */
  unreadFrom: number | null;
  observation: Observation;
  /** Epoch seconds from which nothing is known; null once the machine is observed and what was missed is published. */
  lostSince: number | null;
  /** Update time of the latest reading, in epoch seconds; not stored anew for its own sake. */
  lastUpdateTime: number | null;
  /** `ce_sequence` of the machine's latest event; 0 before the first. */
  sequence: number;
}

/** Shared, for most machines have nothing to remember: there may be a hundred thousand of them. */
const NONE: readonly never[] = [];

/** A machine that changes all the time is corrected no further back than this, while its log can be read. */
export const MOST_PERIODS = 32;
/** And while it cannot: as many as a small fleet may have, and the least for a large one. */
const MOST_UNREAD_PERIODS = { most: 512, least: 8 };
/** Unread periods of all machines together: some 100 MB as they are stored. */
const MOST_UNREAD_PERIODS_IN_ALL = 600_000;

/** How many periods may be remembered of a machine whose log cannot be read, if there are so many machines. */
export function mostUnreadPeriods(machines: number): number {
  const { most, least } = MOST_UNREAD_PERIODS;
  return Math.max(least, Math.min(most, Math.floor(MOST_UNREAD_PERIODS_IN_ALL / machines)));
}

export function newlyTracked(info: MachineInfo): TrackedMachine {
  return {
    version: 2,
    ...namesOf(info),
    periods: NONE,
    replaced: NONE,
    settledUntil: null,
    unreadFrom: null,
    observation: 'ok',
    lostSince: null,
    lastUpdateTime: null,
    sequence: 0,
  };
}

/** The latest published period; null until the machine was first observed. */
export function currentPeriod({ periods }: TrackedMachine): PublishedPeriod | null {
  return periods.at(-1) ?? null;
}

/** Up to which start nothing is corrected any more, in epoch seconds. */
export function settledUntil(tracked: TrackedMachine): number {
  return tracked.settledUntil ?? -Infinity;
}

/**
 * With these periods, but the oldest beyond `most`: the first that is left is as good as settled then. `corrected` is
 * what one of them was published as before.
 */
export function withPeriods(
  tracked: TrackedMachine,
  periods: readonly PublishedPeriod[],
  corrected: PublishedPeriod | null,
  most: number,
): TrackedMachine {
  const kept = periods.slice(-most);
  const oldest = kept.length < periods.length ? kept[0] : undefined;
  const replaced =
    corrected === null ? tracked.replaced : [...tracked.replaced, identityOf(corrected)];
  return {
    ...tracked,
    periods: kept,
    replaced: replaced.slice(-most),
    settledUntil: oldest ? Math.max(settledUntil(tracked), oldest.startTime) : tracked.settledUntil,
  };
}

/** Forgets what a log that is final up to `time` has confirmed, all but the last of it. */
export function settled(tracked: TrackedMachine, time: number): TrackedMachine {
  const until = Math.max(settledUntil(tracked), time);
  if (until === -Infinity) return tracked;
  const last = tracked.periods.findLastIndex(({ startTime }) => startTime <= until);
  const base = tracked.periods[last];
  // Nothing is settled before the first period is.
  if (base === undefined) return tracked;
  const dropped = tracked.periods.slice(0, last);
  const replaced = [...tracked.replaced, ...dropped.map(identityOf)].filter(
    ({ startTime }) => startTime >= base.startTime,
  );
  return {
    ...tracked,
    periods: last === 0 ? tracked.periods : tracked.periods.slice(last),
    replaced: replaced.length === 0 ? NONE : replaced,
    settledUntil: until,
  };
}

function identityOf({ state, startTime, revision }: EventIdentity): EventIdentity {
  return { state, startTime, revision };
}

export function renamed(tracked: TrackedMachine, info: MachineInfo): TrackedMachine {
  return { ...tracked, ...namesOf(info) };
}

export function namesOf(machine: MachineInfo): MachineInfo {
  const { machineId, displayName, factoryId, factoryName } = machine;
  return { machineId, displayName, factoryId, factoryName };
}

/** Whether `next` must be stored though no event says so; an update time alone is read again from the service. */
export function isWorthStoring(stored: TrackedMachine | undefined, next: TrackedMachine): boolean {
  if (stored === undefined) return true;
  return !isDeepStrictEqual({ ...stored, lastUpdateTime: next.lastUpdateTime }, next);
}

/** The value for `machine.states.v1`, or null (a tombstone) for a machine that is gone. */
export function stateRecord(tracked: TrackedMachine): MachineStateRecord | null {
  const { machineId, factoryId, displayName, observation } = tracked;
  if (observation === 'removed') return null;
  const current = currentPeriod(tracked);
  return {
    machineId,
    factoryId,
    displayName,
    state: current?.state ?? null,
    startTime: current?.startTime ?? null,
    observation,
    lastUpdateTime: tracked.lastUpdateTime,
    sequence: tracked.sequence,
    // What is remembered is the last settled moment; readers compare with the first one after it.
    settledUntil: tracked.settledUntil === null ? null : tracked.settledUntil + 1,
  };
}

/** What makes an answer fresh; epoch seconds of our clock. */
export interface Freshness {
  now: number;
  staleAfterSeconds: number;
  /** When the reading's update was seen first; by default it is as old as it says. */
  updateSeenAt?: number;
}

/** By its own account, or, where the service's clock is ahead, because no newer one has come for as long. */
export function isStale(
  { lastUpdateTime }: Pick<MachineStateReading, 'lastUpdateTime'>,
  { now, staleAfterSeconds, updateSeenAt = lastUpdateTime }: Freshness,
): boolean {
  return now - Math.min(lastUpdateTime, updateSeenAt) > staleAfterSeconds;
}

/** An outage that answers 503 first and 401 later is one loss; whether the machine is listed is another matter. */
export function isNewLoss(before: Observation, reason: Exclude<Observation, 'ok'>): boolean {
  return before === 'ok' || (before === 'removed') !== (reason === 'removed');
}

/** An answer overtaken by a newer one, as that of a replica that lags, says nothing. */
export function isOlderThanKnown(
  { lastUpdateTime }: Pick<TrackedMachine, 'lastUpdateTime'>,
  reading: MachineStateReading,
): boolean {
  return lastUpdateTime !== null && reading.lastUpdateTime < lastUpdateTime;
}

/** A service's clock may run ahead of ours a little; what is further ahead is no time at all. */
const MAX_AHEAD_SECONDS = 300;

/** Both in epoch seconds, `now` of the clock that is later, ours or the service's as far as that is known. */
export function isTooFarAhead(time: number | null, now: number): boolean {
  return time !== null && time - now > MAX_AHEAD_SECONDS;
}

/**
 * What is remembered, but for times that cannot be: they count as not known. One of them would have every
 * reading taken for older until that time has come, and a loss begin after it is noticed.
 */
export function withoutTimesAhead(tracked: TrackedMachine, now: number): TrackedMachine {
  const { lastUpdateTime, lostSince } = tracked;
  const [isUpdateAhead, isLossAhead] = [
    isTooFarAhead(lastUpdateTime, now),
    isTooFarAhead(lostSince, now),
  ];
  if (!isUpdateAhead && !isLossAhead) return tracked;
  return {
    ...tracked,
    lastUpdateTime: isUpdateAhead ? null : lastUpdateTime,
    lostSince: isLossAhead ? null : lostSince,
  };
}
