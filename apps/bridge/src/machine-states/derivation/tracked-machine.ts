import { isDeepStrictEqual } from 'node:util';
import type { MachineInfo, MachineStateReading } from '#libs/cloud-client';
import type {
  MachineState,
  MachineStateRecord,
  ObservationLossReason,
  StateChanged,
} from '#libs/contracts';

/** A period of one state, until the next one begins. Times are epoch seconds. */
export interface Period {
  state: MachineState;
  startTime: number;
  startTimeSource: StateChanged['startTimeSource'];
  /** End of the previous period, if minutes without data follow it; else null. */
  previousEndTime: number | null;
}

/** A period as its latest event published it. */
export interface PublishedPeriod extends Period {
  previousState: MachineState | null;
  previousStartTime: number | null;
  revision: number;
}

/** The parts of a `ce_id` besides the machine. */
export type EventIdentity = Pick<PublishedPeriod, 'state' | 'startTime' | 'revision'>;

export type Observation = 'ok' | ObservationLossReason;

/** What Kafka stores of a machine: enough to continue after a restart without a repeated or missing event. */
export interface TrackedMachine {
  version: 2;
  machineId: string;
  displayName: string;
  factoryId: string;
  factoryName: string;
  /** The latest settled period, then those that may still be corrected, in order; the last is the present one. */
  periods: readonly PublishedPeriod[];
  /** Recently corrected events: their ids must not be used again. */
  replaced: readonly EventIdentity[];
  /** Epoch seconds up to which published starts agree with the final log. */
  settledUntil: number | null;
  /** Epoch seconds from which periods may be missing until the log has been read; null if none are. */
  unreadFrom: number | null;
  observation: Observation;
  /** Epoch seconds from which nothing is known; null once the machine is observed and missed periods are published. */
  lostSince: number | null;
  /** Update time of the latest reading, in epoch seconds; a new one alone is not stored. */
  lastUpdateTime: number | null;
  /** `ce_sequence` of the machine's latest event; 0 before the first. */
  sequence: number;
}

/** Maximum of periods kept of a machine while its log can be read; older ones are not corrected. */
export const MOST_PERIODS = 32;
/** Maximum while the log cannot be read: `most` in a small fleet, `least` in a large one. */
const MOST_UNREAD_PERIODS = { most: 512, least: 8 };
/** Maximum of all machines together, some 100 MB as stored. */
const MOST_UNREAD_PERIODS_IN_ALL = 600_000;

/** Maximum of periods kept of each machine while its log cannot be read. */
export function mostUnreadPeriods(machines: number): number {
  const { most, least } = MOST_UNREAD_PERIODS;
  return Math.max(least, Math.min(most, Math.floor(MOST_UNREAD_PERIODS_IN_ALL / machines)));
}

export function newlyTracked(info: MachineInfo): TrackedMachine {
  return {
    version: 2,
    ...namesOf(info),
    periods: [],
    replaced: [],
    settledUntil: null,
    unreadFrom: null,
    observation: 'ok',
    lostSince: null,
    lastUpdateTime: null,
    sequence: 0,
  };
}

/** The latest published period; null until the machine is first observed. */
export function currentPeriod({ periods }: TrackedMachine): PublishedPeriod | null {
  return periods.at(-1) ?? null;
}

/** Epoch seconds up to which starts are final; -Infinity while none is. */
export function settledUntil(tracked: TrackedMachine): number {
  return tracked.settledUntil ?? -Infinity;
}

/**
 * Replaces the periods, keeping the latest `most`; if older ones are dropped, the first kept one counts as settled.
 * `corrected` is what one of them was published as before.
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

/** Drops periods that a log final up to `time` has confirmed, except the last of them. */
export function dropSettled(tracked: TrackedMachine, time: number): TrackedMachine {
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
    periods: tracked.periods.slice(last),
    replaced,
    settledUntil: until,
  };
}

function identityOf({ state, startTime, revision }: EventIdentity): EventIdentity {
  return { state, startTime, revision };
}

export function namesOf(machine: MachineInfo): MachineInfo {
  const { machineId, displayName, factoryId, factoryName } = machine;
  return { machineId, displayName, factoryId, factoryName };
}

/** Whether `next` must be stored without an event. An update time alone is not: the service gives it again. */
export function isWorthStoring(stored: TrackedMachine | undefined, next: TrackedMachine): boolean {
  if (stored === undefined) return true;
  return !isDeepStrictEqual({ ...stored, lastUpdateTime: next.lastUpdateTime }, next);
}

/** Undefined until the first event: a machine whose polls have only failed so far is not observed. */
export function observationOf({ sequence, observation }: TrackedMachine): Observation | undefined {
  return sequence === 0 ? undefined : observation;
}

/** The value for `machine.states.v1`; null before the machine's first event, and for a removed machine. */
export function stateRecord(tracked: TrackedMachine): MachineStateRecord | null {
  const { machineId, factoryId, displayName } = tracked;
  const observation = observationOf(tracked);
  if (observation === undefined || observation === 'removed') return null;
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
    // The stored value is the last settled second; readers compare with the first unsettled one.
    settledUntil: tracked.settledUntil === null ? null : tracked.settledUntil + 1,
  };
}

/** Times that decide whether a reading is stale; epoch seconds of our clock. */
export interface Freshness {
  now: number;
  staleAfterSeconds: number;
  /** When the reading's update was first seen; by default the update time itself. */
  updateSeenAt?: number;
}

/** Whether the update is too old or, if the service's clock is ahead, has not moved for that long. */
export function isStale(
  { lastUpdateTime }: Pick<MachineStateReading, 'lastUpdateTime'>,
  { now, staleAfterSeconds, updateSeenAt = lastUpdateTime }: Freshness,
): boolean {
  return now - Math.min(lastUpdateTime, updateSeenAt) > staleAfterSeconds;
}

/** Whether the loss is published: an outage that answers 503 and later 401 is one loss; `removed` is separate. */
export function isNewLoss(before: Observation, reason: Exclude<Observation, 'ok'>): boolean {
  return before === 'ok' || (before === 'removed') !== (reason === 'removed');
}

/** Whether a newer reading is known, so that this one, as from a lagging replica, is ignored. */
export function isOlderThanKnown(
  { lastUpdateTime }: Pick<TrackedMachine, 'lastUpdateTime'>,
  reading: MachineStateReading,
): boolean {
  return lastUpdateTime !== null && reading.lastUpdateTime < lastUpdateTime;
}

/** Tolerance for a service clock ahead of ours; a time further ahead is invalid. */
const MAX_AHEAD_SECONDS = 300;

/** Both in epoch seconds; `now` is by the later clock, ours or the service's if it is known. */
export function isTooFarAhead(time: number | null, now: number): boolean {
  return time !== null && time - now > MAX_AHEAD_SECONDS;
}

/**
 * Sets invalid times to null. With such an update time, every reading would count as older until that time, and a
 * loss would begin after its detection.
 */
export function withoutTimesAhead(tracked: TrackedMachine, now: number): TrackedMachine {
  const valid = (time: number | null): number | null => (isTooFarAhead(time, now) ? null : time);
  const { lastUpdateTime, lostSince } = tracked;
  return { ...tracked, lastUpdateTime: valid(lastUpdateTime), lostSince: valid(lostSince) };
}
