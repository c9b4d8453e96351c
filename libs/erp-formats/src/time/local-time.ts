import { epochSecondsOf, type LocalTime, utcSeconds } from '#libs/contracts';

/** Dates that mean none: no text, SAP's initial and open-ended dates, and unset dates of .NET and OPC UA. */
const NO_DATES = new Set(['', '00000000', '99991231', '00010101', '16010101']);
const MIDNIGHT = '000000';

/**
 * Reads SAP's DATS (`YYYYMMDD`) and TIMS (`HHMMSS`, 24:00:00 is the end of the day), with or without separators.
 * `absent` for a date that is missing or means none, `invalid` for one that does not exist.
 */
export function readLocalTime(
  date: string | undefined,
  time: string | undefined,
): LocalTime | 'absent' | 'invalid' {
  const day = digits(date);
  if (NO_DATES.has(day)) return 'absent';
  const match = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})$/.exec(
    day + (digits(time) || MIDNIGHT),
  );
  if (match === null) return 'invalid';
  const [year = 0, month = 0, dayOfMonth = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1)
    .map(Number);
  const local = { year, month, day: dayOfMonth, hour, minute, second };
  return exists(local) ? local : 'invalid';
}

const DATE_TIME =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}:\d{2})(?:\.\d+)?(Z|([+-])([01]\d|2[0-3]):([0-5]\d))?)?$/i;

/**
 * Reads a date with a time (ISO 8601), or a date as its midnight, as epoch seconds. Without an offset it is in the
 * zone. `absent` and `invalid` as in {@link readLocalTime}.
 *
 * @param recordedAt for a time in the past, see {@link epochSecondsOf}
 */
export function readDateTime(
  text: string,
  timeZone: string,
  recordedAt?: number,
): number | 'absent' | 'invalid' {
  const [whole, date, time, offset, sign, hours = 0, minutes = 0] = DATE_TIME.exec(text) ?? [];
  const local = whole === undefined ? 'invalid' : readLocalTime(date, time);
  if (typeof local === 'string') return local;
  if (offset === undefined) return epochSecondsOf(local, timeZone, recordedAt);
  const ahead = Number(hours) * 3600 + Number(minutes) * 60;
  return utcSeconds(local) - (sign === '-' ? -ahead : ahead);
}

/** Whether a time is unset: empty, SAP's zeros (digits, decimal number, date and time), or year 1 of .NET. */
export function isInitial(text: string): boolean {
  return /^(?:0001-01-01T)?[0.:T -]*Z?$/.test(text);
}

function digits(text: string | undefined): string {
  return text?.replace(/[-:]/g, '') ?? '';
}

function exists({ year, month, day, hour, minute, second }: LocalTime): boolean {
  const lastDay = new Date(Date.UTC(year, month, 0)).getUTCDate();
  const isDay = year >= 1970 && month >= 1 && month <= 12 && day >= 1 && day <= lastDay;
  const isEndOfDay = hour === 24 && minute === 0 && second === 0;
  return isDay && (isEndOfDay || (hour < 24 && minute < 60 && second < 60));
}
