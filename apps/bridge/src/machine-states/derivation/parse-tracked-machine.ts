import { isJsonObject, type JsonObject, LOSS_REASONS, MACHINE_STATES } from '#libs/contracts';
import type { PublishedPeriod, TrackedMachine } from './tracked-machine.js';

/** Returns the parsed value; undefined if it is invalid. */
type Parse = (value: unknown) => unknown;

const only =
  (isSo: (value: unknown) => boolean): Parse =>
  (value) =>
    isSo(value) ? value : undefined;
const text = only((value) => typeof value === 'string');
const whole = only(Number.isSafeInteger);
const oneOf = (...options: readonly unknown[]): Parse => only((value) => options.includes(value));
const orNull =
  (parse: Parse): Parse =>
  (value) =>
    value === null ? null : parse(value);
const listOf =
  (parse: Parse): Parse =>
  (value) => {
    const items = Array.isArray(value) ? value.map(parse) : [undefined];
    return items.includes(undefined) ? undefined : items;
  };
/** Drops unknown fields: a later version would otherwise find its own fields again, out of date. */
const objectOf = (fields: Readonly<Record<string, Parse>>): Parse => {
  const parsers = Object.entries(fields);
  return (value) => {
    if (!isJsonObject(value)) return undefined;
    const known: JsonObject = {};
    for (const [name, parse] of parsers) known[name] = parse(value[name]);
    return Object.values(known).includes(undefined) ? undefined : known;
  };
};

const state = oneOf(...MACHINE_STATES);
const IDENTITY = { state, startTime: whole, revision: whole };
const period = objectOf({
  ...IDENTITY,
  startTimeSource: oneOf('activityLog', 'duration'),
  previousEndTime: orNull(whole),
  previousState: orNull(state),
  previousStartTime: orNull(whole),
} satisfies Record<keyof PublishedPeriod, Parse>);
const trackedMachine = objectOf({
  version: oneOf(2),
  machineId: text,
  displayName: text,
  factoryId: text,
  factoryName: text,
  periods: listOf(period),
  replaced: listOf(objectOf(IDENTITY)),
  settledUntil: orNull(whole),
  unreadFrom: orNull(whole),
  observation: oneOf('ok', ...LOSS_REASONS),
  lostSince: orNull(whole),
  lastUpdateTime: orNull(whole),
  sequence: whole,
} satisfies Record<keyof TrackedMachine, Parse>);

/** Parses a stored {@link TrackedMachine} of version 1 or 2; undefined if it is invalid. */
export function parseTrackedMachine(json: unknown): TrackedMachine | undefined {
  if (!isJsonObject(json)) return undefined;
  const stored = json['version'] === 1 ? ofVersion1(json) : json;
  // Records of earlier releases lack `unreadFrom`.
  return trackedMachine({ unreadFrom: null, ...stored }) as TrackedMachine | undefined;
}

/** Converts version 1, which had the last two periods and no corrections. The first of them becomes settled. */
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
