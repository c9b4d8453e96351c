/** A wall-clock time; hour 24 is midnight at the end of the day. */
export interface LocalTime {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
}

const DAY_SECONDS = 86_400;
/** Between the clock of the ERP and the one that dates records. */
const CLOCKS_APART_SECONDS = 300;

/** Building a formatter costs a hundred times what using it does. A plant has one zone, and documents have UTC beside it. */
const zones = new Map<string, Zone>();

interface Zone {
  format: Intl.DateTimeFormat;
  /** By the day, at its beginning in UTC. */
  offsets: Map<number, number>;
}

/**
 * Epoch seconds of a wall-clock time in an IANA zone. A time that the clock shows twice is the earlier
 * one; a time that the clock skips is moved on by the width of the gap, as a shift that begins in it
 * would. An unknown zone throws a RangeError: the setting is checked at start.
 *
 * @param recordedAt of a time that has passed: epoch seconds of its record. The later of two times is meant if it had
 *   come by then: what was changed in it must not count as older than what was changed an hour before
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

/** The same wall clock read as UTC. */
export function utcSeconds({ year, month, day, hour, minute, second }: LocalTime): number {
  return Date.UTC(year, month - 1, day, hour, minute, second) / 1000;
}

/** How far the zone's clock is ahead of UTC at an instant. */
export function offsetSeconds(epochSeconds: number, timeZone: string): number {
  const day = Math.floor(epochSeconds / DAY_SECONDS);
  const offset = offsetAtDay(day, timeZone);
  // clocks are not moved there and back within a day
  const isSteady = offset === offsetAtDay(day + 1, timeZone);
  return isSteady ? offset : formattedOffset(epochSeconds, timeZone);
}

const MAX_DAYS = 10_000;

/** At the beginning of a day in UTC. Asking a formatter for each of fifty operations takes most of the time. */
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
