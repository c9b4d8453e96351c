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

/** Building a formatter costs a hundred times what using it does, and a plant has one zone. */
const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * Epoch seconds of a wall-clock time in an IANA zone. A time that the clock shows twice is the earlier
 * one; a time that the clock skips is moved on by the width of the gap, as a shift that begins in it
 * would. An unknown zone throws a RangeError: the setting is checked at start.
 */
export function epochSecondsOf(local: LocalTime, timeZone: string): number {
  const asUtc = utcSeconds(local);
  const before = asUtc - offsetSeconds(asUtc - DAY_SECONDS, timeZone);
  const after = asUtc - offsetSeconds(asUtc + DAY_SECONDS, timeZone);
  const real = [before, after].filter(
    (candidate) => candidate + offsetSeconds(candidate, timeZone) === asUtc,
  );
  return real.length === 0 ? before : Math.min(...real);
}

/** The same wall clock read as UTC. */
export function utcSeconds({ year, month, day, hour, minute, second }: LocalTime): number {
  return Date.UTC(year, month - 1, day, hour, minute, second) / 1000;
}

/** How far the zone's clock is ahead of UTC at an instant. */
export function offsetSeconds(epochSeconds: number, timeZone: string): number {
  const parts: Record<string, number> = {};
  for (const { type, value } of formatOf(timeZone).formatToParts(epochSeconds * 1000)) {
    parts[type] = Number(value);
  }
  const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = parts;
  return utcSeconds({ year, month, day, hour, minute, second }) - epochSeconds;
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
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
  formats.set(timeZone, format);
  return format;
}
