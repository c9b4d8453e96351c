import { readLocalTime } from '../time/read-local-time.js';
import type { LocalTime } from '../time/local-time.js';

export const V2_DATE = /^\/Date\((-?\d{1,15})(?:[+-]\d{4})?\)\/$/;
const DURATION = /^PT(?:(\d{1,2})H)?(?:(\d{1,2})M)?(?:(\d{1,2})(?:\.\d+)?S)?$/;
export const ISO_INSTANT =
  /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(?:\.\d+)?(Z|[+-]\d{2}:\d{2})?$/;

/**
 * A date and the time beside it, in the plant's zone. V2 writes the date as the milliseconds of its midnight
 * in UTC and the time as a duration since midnight, V4 writes both as ISO 8601.
 */
export function readODataTime(
  date: string | undefined,
  time: string | undefined,
): LocalTime | 'absent' | 'invalid' {
  if (date === undefined) return 'absent';
  return readLocalTime(dayOf(date), time === undefined ? undefined : timeOfDay(time));
}

/** As `YYYYMMDD`, or the text itself where it is no date, for the next to refuse. */
function dayOf(text: string): string {
  const milliseconds = V2_DATE.exec(text)?.[1];
  if (milliseconds !== undefined) return utcDay(Number(milliseconds)) ?? text;
  const [, date, time, offset] = ISO_INSTANT.exec(text) ?? [];
  if (date === undefined || time === undefined) return text;
  // with an offset it is still the instant of that day's midnight in UTC, said in the zone of a gateway
  return offset === undefined ? date : (utcDay(Date.parse(`${date}T${time}${offset}`)) ?? text);
}

function timeOfDay(text: string): string {
  const [whole, hours = '0', minutes = '0', seconds = '0'] = DURATION.exec(text) ?? [];
  if (whole === undefined) return text.replace(/\.\d+$/, '');
  return [hours, minutes, seconds].map((part) => part.padStart(2, '0')).join('');
}

function utcDay(milliseconds: number): string | undefined {
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString().slice(0, 10);
}
