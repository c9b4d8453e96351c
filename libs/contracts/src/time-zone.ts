/** A wall-clock time; hour 24 is the midnight that ends the day. */
export interface LocalTime {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
}

const DAY_SECONDS = 86_400;
/** Tolerance between the ERP's clock and the clock that timestamps records. */
const CLOCKS_APART_SECONDS = 300;

/** Creating a formatter costs a hundred times as much as using it. A plant has one zone, its documents also UTC. */
const zones = new Map<string, Zone>();

interface Zone {
  format: Intl.DateTimeFormat;
  /** Offset at the beginning of a day in UTC, by day. */
  offsets: Map<number, number>;
}

/**
 * Epoch seconds of a wall-clock time in an IANA zone. Of a time that the clock shows twice, the earlier one; a time
 * that the clock skips is moved forward by the width of the gap, as a shift that begins in it would be. An unknown
 * zone throws a RangeError: the setting is checked at start.
 *
 * @param recordedAt for a time in the past, epoch seconds of its record. Of two times, the later one is returned if it
 *   had passed when the record was written: a change made then must not be older than one made an hour before
 */
export function epochSecondsOf(local: LocalTime, timeZone: string, recordedAt = -Infinity): number {
  const asUtc = utcSeconds(local);
  const before = asUtc - offsetSeconds(asUtc - DAY_SECONDS, timeZone);
  const after = asUtc - offsetSeconds(asUtc + DAY_SECONDS, timeZone);
  const real = [before, after].filter(
    (candidate) => candidate + offsetSeconds(candidate, timeZone) === asUtc,
  );
  if (real.length === 0) return before;
  const latest = Math.max(...real);
  return latest <= recordedAt + CLOCKS_APART_SECONDS ? latest : Math.min(...real);
}

/** Epoch seconds of a wall-clock time in UTC. */
export function utcSeconds({ year, month, day, hour, minute, second }: LocalTime): number {
  return Date.UTC(year, month - 1, day, hour, minute, second) / 1000;
}

/** Seconds by which the zone's clock is ahead of UTC at an instant. */
export function offsetSeconds(epochSeconds: number, timeZone: string): number {
  const day = Math.floor(epochSeconds / DAY_SECONDS);
  const offset = offsetAtDay(day, timeZone);
  // no zone moves its clock forward and back within one day
  const isSteady = offset === offsetAtDay(day + 1, timeZone);
  return isSteady ? offset : formattedOffset(epochSeconds, timeZone);
}

const MAX_DAYS = 10_000;

/**
 * The offset at the beginning of a day in UTC, cached: formatting took most of the time of reading fifty operations.
 */
function offsetAtDay(day: number, timeZone: string): number {
  const { offsets } = zoneOf(timeZone);
  const known = offsets.get(day);
  if (known !== undefined) return known;
  const offset = formattedOffset(day * DAY_SECONDS, timeZone);
  if (offsets.size >= MAX_DAYS) offsets.clear();
  offsets.set(day, offset);
  return offset;
}

function formattedOffset(epochSeconds: number, timeZone: string): number {
  const parts: Record<string, number> = {};
  for (const { type, value } of zoneOf(timeZone).format.formatToParts(epochSeconds * 1000)) {
    parts[type] = Number(value);
  }
  const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = parts;
  return utcSeconds({ year, month, day, hour, minute, second }) - epochSeconds;
}

function zoneOf(timeZone: string): Zone {
  const known = zones.get(timeZone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'iso8601',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const zone = { format, offsets: new Map<number, number>() };
  zones.set(timeZone, zone);
  return zone;
}
