import { parsed, type Parsed, rejected } from '#libs/contracts';
import { isInitial, type LocalTime, readLocalTime, utcSeconds } from '../time/local-time.js';
import { type JsonRecord, pathTo } from '../json/json-record.js';
import { checkEntity, textField } from './odata-entity.js';

const V2_DATE = /^\/Date\((-?\d{1,15})(?:[+-]\d{4})?\)\/$/;
const DURATION = /^PT(?:(\d{1,2})H)?(?:(\d{1,2})M)?(?:(\d{1,2})(?:\.\d+)?S)?$/;
const ISO_INSTANT = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(?:\.\d+)?(Z|[+-]\d{2}:\d{2})?$/;

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

const FIELD = 'LastChangeDateTime';

/**
 * When an entity was last changed, in epoch seconds. One that cannot be read is refused: dated by its message, an old
 * state of the order would outrank all that is known.
 */
export function readLastChange(entity: JsonRecord): Parsed<number | undefined> {
  const checked = checkEntity(entity, { texts: [FIELD] });
  if (!checked.ok) return checked;
  const text = textField(entity, FIELD);
  if (text === undefined || isInitial(text)) return parsed(undefined);
  const seconds = secondsOf(text);
  if (seconds !== undefined) return parsed(seconds);
  return rejected('invalid-message', `${pathTo(entity, FIELD)} is no time`);
}

/** Of 14 digits (UTC), V2 milliseconds or ISO 8601; undefined for none of these. */
function secondsOf(text: string): number | undefined {
  const milliseconds = V2_DATE.exec(text)?.[1];
  if (milliseconds !== undefined) return Math.floor(Number(milliseconds) / 1000);
  const [, date, time, offset = 'Z'] = ISO_INSTANT.exec(text) ?? [];
  if (date !== undefined && time !== undefined) return epochSeconds(`${date}T${time}${offset}`);
  const local = readLocalTime(text.slice(0, 8), text.slice(8, 14));
  return typeof local === 'object' ? utcSeconds(local) : undefined;
}

function epochSeconds(iso: string): number | undefined {
  const milliseconds = Date.parse(iso);
  return Number.isNaN(milliseconds) ? undefined : Math.floor(milliseconds / 1000);
}
