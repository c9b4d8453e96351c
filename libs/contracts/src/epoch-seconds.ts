/** A parsed time field: epoch seconds, or its fault as text that follows the field's name. */
export type TimeReading = { ok: true; seconds: number } | { ok: false; problem: string };

/** 1e11 s is the year 5138, 1e11 ms is March 1973: a plant's time is below it in seconds, above it in milliseconds. */
export const FIRST_IMPLAUSIBLE_SECOND = 100_000_000_000;

const RFC_3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:([Zz])|([+-])(\d{2}):(\d{2}))$/;

/**
 * Reads epoch seconds given as a whole number or digits, or an RFC 3339 date-time with offset (a fraction
 * of a second is dropped). Milliseconds, fractional numbers and local times are refused, never guessed.
 */
export function readEpochSeconds(value: unknown): TimeReading {
  if (typeof value === 'number') return fromNumber(value);
  if (typeof value !== 'string') {
    return invalidTime('must be epoch seconds or an RFC 3339 date-time with offset');
  }
  // 20 digits are too large already; a megabyte of them must not be converted to a number
  if (/^\d{1,20}$/.test(value)) return fromNumber(Number(value));
  return fromDateTime(value);
}

/**
 * The fault of a time that lies too far ahead of the clock, as text that follows the field's name. It has the date too:
 * the sender, who knows when the message was sent, sees from it that a local time was read in the wrong zone.
 */
export function describeAhead(seconds: number, maxAheadSeconds: number): string {
  // the timestamp of a record in nanoseconds is beyond any date
  const date = seconds < FIRST_IMPLAUSIBLE_SECOND ? ` (${rfc3339(seconds)})` : '';
  return `${seconds}${date} lies more than ${maxAheadSeconds} s ahead of the clock`;
}

/** A cache: thousands of events are written in the same second. */
let latest = { epochSeconds: 0, text: '1970-01-01T00:00:00Z' };

/** RFC 3339 in UTC, to the second. */
export function rfc3339(epochSeconds: number): string {
  if (epochSeconds !== latest.epochSeconds) {
    const text = new Date(epochSeconds * 1000).toISOString().replace('.000Z', 'Z');
    latest = { epochSeconds, text };
  }
  return latest.text;
}

function fromNumber(value: number): TimeReading {
  if (value >= FIRST_IMPLAUSIBLE_SECOND) {
    return invalidTime('must be epoch seconds; milliseconds are refused, not guessed');
  }
  if (!Number.isInteger(value)) return invalidTime('must be whole epoch seconds');
  if (value < 0) return invalidTime('must not lie before 1970');
  return { ok: true, seconds: value };
}

function fromDateTime(text: string): TimeReading {
  const match = RFC_3339.exec(text);
  if (match === null) {
    return invalidTime('must be epoch seconds or an RFC 3339 date-time with offset (Z or +hh:mm)');
  }
  const month = Number(match[2]);
  const day = Number(match[3]);
  const hour = Number(match[4]);
  const minute = Number(match[5]);
  const second = Number(match[6]);
  const offset = offsetSeconds(match);
  const midnight = new Date(Date.UTC(Number(match[1]), month - 1, day));
  const seconds = midnight.getTime() / 1000 + hour * 3600 + minute * 60 + second - offset;
  const possible =
    midnight.getUTCDate() === day &&
    midnight.getUTCMonth() === month - 1 &&
    hour < 24 &&
    minute < 60 &&
    // a leap second is announced for the last minute of a UTC day only
    (second < 60 || (second === 60 && seconds % 86_400 === 0));
  if (!possible || Number.isNaN(offset)) return invalidTime('is no existing time');
  // a date, so the text about milliseconds would mislead
  if (seconds >= FIRST_IMPLAUSIBLE_SECOND) return invalidTime('must not lie after the year 5138');
  return fromNumber(seconds);
}

function offsetSeconds(match: RegExpExecArray): number {
  if (match[7] !== undefined) return 0;
  const hours = Number(match[9]);
  const minutes = Number(match[10]);
  if (hours > 23 || minutes > 59) return Number.NaN;
  return (match[8] === '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
}

function invalidTime(text: string): TimeReading {
  return { ok: false, problem: text };
}
