import { MACHINE_STATES, type MachineState } from '#libs/contracts';
import { type Observation, type PublishedPeriod, type TrackedMachine } from './tracked-machine.js';

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

/** Reads what {@link TrackedMachine} was stored as; undefined for any other version or shape. */
export function parseTrackedMachine(json: unknown): TrackedMachine | undefined {
  try {
    return trackedMachine(object(json));
  } catch (error) {
    if (error instanceof Unreadable) return undefined;
    throw error;
  }
}

function trackedMachine(json: Json): TrackedMachine {
  if (json['version'] !== 1) throw new Unreadable();
  return {
    version: 1,
    machineId: text(json['machineId']),
    displayName: text(json['displayName']),
    factoryId: text(json['factoryId']),
    factoryName: text(json['factoryName']),
    current: orNull(json['current'], (value) => publishedPeriod(object(value))),
    previous: orNull(json['previous'], (value) => previousPeriod(object(value))),
    observation: oneOf(json['observation'], OBSERVATIONS),
    lostSince: orNull(json['lostSince'], wholeNumber),
    lastUpdateTime: orNull(json['lastUpdateTime'], wholeNumber),
    sequence: wholeNumber(json['sequence']),
  };
}

function publishedPeriod(json: Json): PublishedPeriod {
  return {
    ...previousPeriod(json),
    startTimeSource: oneOf(json['startTimeSource'], SOURCES),
    revision: wholeNumber(json['revision']),
    eventId: text(json['eventId']),
  };
}

function previousPeriod(json: Json): { state: MachineState; startTime: number } {
  return {
    state: oneOf(json['state'], MACHINE_STATES),
    startTime: wholeNumber(json['startTime']),
  };
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
