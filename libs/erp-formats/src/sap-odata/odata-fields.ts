import {
  epochSecondsOf,
  field,
  type LocalTime,
  type OrderStatus,
  parsed,
  type Parsed,
  rejected,
  utcSeconds,
} from '#libs/contracts';
import { type FieldReader, fieldReader, readFields, text, textOf } from '../json/field-reader.js';
import { type JsonRecord, pathTo } from '../json/json-record.js';
import { operationIdOf, orderNumber, statusOf } from '../sap/sap-values.js';
import { isInitial, readDateTime, readLocalTime } from '../time/local-time.js';

/** V2 wraps in `d` and `results`, V4 in `value`; readers that log what they fetch in `message`. */
export const ENVELOPES = ['d', 'results', 'value', 'message'];

/** The number of an order as it is shown. */
export function orderNumberIn(...names: string[]): FieldReader<string> {
  const number = text(...names);
  return {
    names,
    read: (record, context) => {
      const read = number.read(record, context);
      return read.ok ? parsed(orderNumber(read.value)) : read;
    },
  };
}

/** Sequences number their operations each for itself, and operations their sub-operations. */
export function operationIdIn(
  sequence: string,
  numbers: readonly string[],
  subNumbers: readonly string[] = [],
): FieldReader<string> {
  const parts = { number: text(...numbers), sub: text(...subNumbers), within: text(sequence) };
  return {
    names: numbers,
    read: (record, context) => {
      const read = readFields<Record<keyof typeof parts, string>>(record, parts, context);
      if (!read.ok) return read;
      const { number, sub, within } = read.value;
      if (number === undefined) return parsed(undefined);
      return parsed(operationIdOf(sub === undefined ? number : `${number}-${sub}`, within));
    },
  };
}

/** An indicator as text, as ABAP writes it or what has made JSON out of XML. */
const SET: readonly string[] = ['X', 'TRUE'];
const NOT_SET: readonly string[] = ['', 'FALSE'];

/** Indicators, each with the system status that it stands for and that an IDoc carries as a code. */
type StatusFlags = readonly (readonly [field: string, systemStatus: string])[];

export const ORDER_FLAGS: StatusFlags = [
  ['OrderIsDeleted', 'I0013'],
  ['OrderIsMarkedForDeletion', 'I0076'],
  ['OrderIsClosed', 'I0046'],
  ['OrderIsTechnicallyCompleted', 'I0045'],
  ['OrderIsConfirmed', 'I0009'],
  ['OrderIsLocked', 'I0043'],
  ['OrderIsPartiallyConfirmed', 'I0010'],
  ['OrderIsReleased', 'I0002'],
  ['OrderIsPartiallyReleased', 'I0042'],
  ['OrderIsCreated', 'I0001'],
];

const OPERATION_FLAGS: StatusFlags = [
  ['OperationIsDeleted', 'I0013'],
  ['OperationIsClosed', 'I0046'],
  ['OperationIsTechlyCompleted', 'I0045'],
  ['OperationIsConfirmed', 'I0009'],
  ['OperationIsPartiallyConfirmed', 'I0010'],
  ['OperationIsReleased', 'I0002'],
  ['OperationIsCreated', 'I0001'],
];

/** The system statuses whose indicators are set; refuses an indicator that is neither set nor not. */
export function readFlags(record: JsonRecord, flags: StatusFlags): Parsed<string[]> {
  const codes: string[] = [];
  for (const [name, code] of flags) {
    const value = field(record.fields, name) ?? false;
    const written = typeof value === 'string' ? value.trim().toUpperCase() : undefined;
    if (value === true || (written !== undefined && SET.includes(written))) codes.push(code);
    else if (value !== false && (written === undefined || !NOT_SET.includes(written))) {
      const problem = 'must be X, true, false or empty';
      return rejected('invalid-message', `${pathTo(record, name)} ${problem}`);
    }
  }
  return parsed(codes);
}

export const operationStatus: FieldReader<OrderStatus> = {
  names: OPERATION_FLAGS.map(([name]) => name),
  read: (record) => {
    const flagged = readFlags(record, OPERATION_FLAGS);
    return flagged.ok ? parsed(statusOf(flagged.value)) : flagged;
  },
};

/** Scheduled starts by preference: earliest, then latest. */
const STARTS = [
  ['OpErlstSchedldExecStrtDte', 'OpErlstSchedldExecStrtTme'],
  ['OpLtstSchedldExecStrtDte', 'OpLtstSchedldExecStrtTme'],
].map(([date = '', time = '']) => ({ date: text(date), time: text(time) }));

export const plannedStart: FieldReader<number> = {
  names: STARTS.flatMap(({ date }) => date.names),
  read: (record, context) => {
    for (const start of STARTS) {
      const read = readFields<{ date: string; time: string }>(record, start, context);
      if (!read.ok) return read;
      const local = readODataTime(read.value);
      if (local === 'invalid') {
        const [date = '', time = ''] = [...start.date.names, ...start.time.names];
        const path = pathTo(record, date);
        return rejected('invalid-message', `${path} and ${time} are no date and time`);
      }
      if (local !== 'absent') return parsed(epochSecondsOf(local, context.timeZone));
    }
    return parsed(undefined);
  },
};

const V2_DATE = /^\/Date\((-?\d{1,15})(?:[+-]\d{4})?\)\/$/;
const DURATION = /^PT(?:(\d{1,2})H)?(?:(\d{1,2})M)?(?:(\d{1,2})(?:\.\d+)?S)?$/;

/**
 * A date and the time beside it, in the plant's zone. V2 writes the date as the milliseconds of its midnight
 * in UTC and the time as a duration since midnight, V4 writes both as ISO 8601.
 */
function readODataTime(start: { date?: string; time?: string }): LocalTime | 'absent' | 'invalid' {
  const { date, time } = start;
  if (date === undefined) return 'absent';
  return readLocalTime(dayOf(date), time === undefined ? undefined : timeOfDay(time));
}

/** As `YYYYMMDD`, or the text itself where it is no date, for the next to refuse. */
function dayOf(text: string): string {
  const milliseconds = V2_DATE.exec(text)?.[1];
  if (milliseconds !== undefined) return utcDay(Number(milliseconds)) ?? text;
  // with an offset it is still the instant of that day's midnight in UTC, said in the zone of a gateway
  const seconds = readDateTime(text, 'UTC');
  if (seconds === 'absent') return '';
  return seconds === 'invalid' ? text : (utcDay(seconds * 1000) ?? text);
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

/**
 * When an entity of V2 was last changed. A time that cannot be read is refused: dated by its message, an old state of
 * the order would outrank all that is known.
 */
export const lastChange = fieldReader<number>(['LastChangeDateTime'], (value) => {
  const read = textOf(value);
  if ('problem' in read) return read;
  const text = isoOf(read.value ?? '');
  if (isInitial(text)) return { value: undefined };
  const seconds = secondsOf(text);
  return seconds === undefined ? { problem: 'is no time' } : { value: seconds };
});

/** V2 milliseconds as ISO 8601; any other text as it is. */
function isoOf(text: string): string {
  const date = new Date(Number(V2_DATE.exec(text)?.[1]));
  return Number.isNaN(date.getTime()) ? text : date.toISOString();
}

/** Epoch seconds of 14 digits (UTC) or ISO 8601; undefined for neither. */
function secondsOf(text: string): number | undefined {
  // a day alone would date the change before those of that day
  const seconds = text.includes('T') ? readDateTime(text, 'UTC') : 'invalid';
  if (typeof seconds === 'number') return seconds;
  const local = readLocalTime(text.slice(0, 8), text.slice(8, 14));
  return typeof local === 'object' ? utcSeconds(local) : undefined;
}
