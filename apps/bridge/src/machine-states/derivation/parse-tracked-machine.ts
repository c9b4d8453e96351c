import { MACHINE_STATES, type MachineState } from '#libs/contracts';
import type {
  EventIdentity,
  Observation,
  PublishedPeriod,
  TrackedMachine,
} from './tracked-machine.js';

type Json = Record<string, unknown>;

const OBSERVATIONS: readonly Observation[] = [
  'ok',
  'noData',
  'stale',
  'unreachable',
  'forbidden',
  'removed',
];
const SOURCES = ['activityLog', 'duration'] as const;

class Unreadable extends Error {}

/** Reads what {@link TrackedMachine} was stored as, of this version or the one before; else undefined. */
export function parseTrackedMachine(json: unknown): TrackedMachine | undefined {
  try {
    return trackedMachine(object(json));
  } catch (error) {
    if (error instanceof Unreadable) return undefined;
    throw error;
  }
}

function trackedMachine(json: Json): TrackedMachine {
  return {
    version: 2,
    machineId: text(json['machineId']),
    displayName: text(json['displayName']),
    factoryId: text(json['factoryId']),
    factoryName: text(json['factoryName']),
    ...published(json),
    // Versions before this field did not remember it.
    unreadFrom: orNull(json['unreadFrom'] ?? null, wholeNumber),
    observation: oneOf(json['observation'], OBSERVATIONS),
    lostSince: orNull(json['lostSince'], wholeNumber),
    lastUpdateTime: orNull(json['lastUpdateTime'], wholeNumber),
    sequence: wholeNumber(json['sequence']),
  };
}

function published(json: Json): Pick<TrackedMachine, 'periods' | 'replaced' | 'settledUntil'> {
  switch (json['version']) {
    case 2:
      return {
        periods: list(json['periods'], publishedPeriod),
        replaced: list(json['replaced'], identity),
        settledUntil: orNull(json['settledUntil'], wholeNumber),
      };
    case 1:
      return publishedByVersion1(json);
    default:
      throw new Unreadable();
  }
}

/** Version 1 knew the last two periods and corrected none; the one before the last is what others build on. */
function publishedByVersion1(
  json: Json,
): Pick<TrackedMachine, 'periods' | 'replaced' | 'settledUntil'> {
  const previous = orNull(json['previous'], (value) => stateAndStart(object(value)));
  const current = orNull(json['current'], (value) => object(value));
  const periods: PublishedPeriod[] = [];
  const add = (period: Pick<PublishedPeriod, 'state' | 'startTime' | 'startTimeSource'>): void => {
    const before = periods.at(-1);
    periods.push({
      ...period,
      previousEndTime: null,
      previousState: before?.state ?? null,
      previousStartTime: before?.startTime ?? null,
      revision: 0,
    });
  };
  if (current !== null && previous !== null) add({ ...previous, startTimeSource: 'activityLog' });
  if (current !== null) {
    const startTimeSource = oneOf(current['startTimeSource'], SOURCES);
    add({ ...stateAndStart(current), startTimeSource });
  }
  return { periods, replaced: [], settledUntil: previous?.startTime ?? null };
}

function publishedPeriod(json: Json): PublishedPeriod {
  return {
    ...stateAndStart(json),
    startTimeSource: oneOf(json['startTimeSource'], SOURCES),
    previousEndTime: orNull(json['previousEndTime'], wholeNumber),
    previousState: orNull(json['previousState'], (value) => oneOf(value, MACHINE_STATES)),
    previousStartTime: orNull(json['previousStartTime'], wholeNumber),
    revision: wholeNumber(json['revision']),
  };
}

function identity(json: Json): EventIdentity {
  return { ...stateAndStart(json), revision: wholeNumber(json['revision']) };
}

function stateAndStart(json: Json): { state: MachineState; startTime: number } {
  return {
    state: oneOf(json['state'], MACHINE_STATES),
    startTime: wholeNumber(json['startTime']),
  };
}

function list<T>(value: unknown, read: (item: Json) => T): T[] {
  if (!Array.isArray(value)) throw new Unreadable();
  return value.map((item) => read(object(item)));
}

function object(value: unknown): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Unreadable();
  return value as Json;
}

function text(value: unknown): string {
  if (typeof value !== 'string') throw new Unreadable();
  return value;
}

function wholeNumber(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw new Unreadable();
  return value;
}

function orNull<T>(value: unknown, read: (value: unknown) => T): T | null {
  return value === null ? null : read(value);
}

function oneOf<T>(value: unknown, options: readonly T[]): T {
  const option = options.find((candidate) => candidate === value);
  if (option === undefined) throw new Unreadable();
  return option;
}
