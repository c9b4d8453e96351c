import { isJsonObject, type JsonObject, MACHINE_STATES } from '#libs/contracts';
import type { Observation, PublishedPeriod, TrackedMachine } from './tracked-machine.js';

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isWhole: Check = (value) => Number.isSafeInteger(value);
const oneOf =
  (...options: readonly unknown[]): Check =>
  (value) =>
    options.includes(value);
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const objectOf = (fields: Readonly<Record<string, Check>>): Check => {
  const checks = Object.entries(fields);
  return (value) => isJsonObject(value) && checks.every(([name, check]) => check(value[name]));
};

const isState = oneOf(...MACHINE_STATES);
const isObservation = oneOf(
  ...(['ok', 'noData', 'stale', 'unreachable', 'forbidden', 'removed'] satisfies Observation[]),
);
const IDENTITY = { state: isState, startTime: isWhole, revision: isWhole };
const isPeriod = objectOf({
  ...IDENTITY,
  startTimeSource: oneOf('activityLog', 'duration'),
  previousEndTime: orNull(isWhole),
  previousState: orNull(isState),
  previousStartTime: orNull(isWhole),
} satisfies Record<keyof PublishedPeriod, Check>);
const isTracked = objectOf({
  version: oneOf(2),
  machineId: isText,
  displayName: isText,
  factoryId: isText,
  factoryName: isText,
  periods: listOf(isPeriod),
  replaced: listOf(objectOf(IDENTITY)),
  settledUntil: orNull(isWhole),
  unreadFrom: orNull(isWhole),
  observation: isObservation,
  lostSince: orNull(isWhole),
  lastUpdateTime: orNull(isWhole),
  sequence: isWhole,
} satisfies Record<keyof TrackedMachine, Check>);

/** Reads what {@link TrackedMachine} was stored as, of this version or the one before; else undefined. */
export function parseTrackedMachine(json: unknown): TrackedMachine | undefined {
  if (!isJsonObject(json)) return undefined;
  const stored = json['version'] === 1 ? ofVersion1(json) : json;
  // Versions before this field did not remember it.
  const tracked: unknown = { unreadFrom: null, ...stored };
  return isTracked(tracked) ? (tracked as TrackedMachine) : undefined;
}

/** Version 1 knew the last two periods and corrected none; the one before the last is what others build on. */
function ofVersion1({ current, previous, ...names }: JsonObject): JsonObject {
  const known = current === null ? [] : [previous, current].filter(isJsonObject);
  const periods = known.map(({ state, startTime, startTimeSource = 'activityLog' }, index) => ({
    ...{ state, startTime, startTimeSource, previousEndTime: null, revision: 0 },
    previousState: known[index - 1]?.['state'] ?? null,
    previousStartTime: known[index - 1]?.['startTime'] ?? null,
  }));
  const settledUntil = isJsonObject(previous) ? previous['startTime'] : null;
  return { ...names, version: 2, periods, replaced: [], settledUntil };
}
