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

/** V2 has `d` and `results`, V4 `value`, clients that log what they fetch `message`. */
export const ENVELOPES = ['d', 'results', 'value', 'message'];

/** An order number without padding. */
export function orderNumberIn(...names: string[]): FieldReader<string> {
  const number = text(...names);
  return {
    names,
    readField: (record, context) => {
      const read = number.readField(record, context);
      return read.ok ? parsed(orderNumber(read.value)) : read;
    },
  };
}

/** Each sequence numbers its operations separately, and each operation its sub-operations. */
export function operationIdIn(
  sequence: string,
  numbers: readonly string[],
  subNumbers: readonly string[] = [],
): FieldReader<string> {
  const parts = { number: text(...numbers), sub: text(...subNumbers), within: text(sequence) };
  return {
    names: numbers,
    readField: (record, context) => {
      const read = readFields<Record<keyof typeof parts, string>>(record, parts, context);
      if (!read.ok) return read;
      const { number, sub, within } = read.value;
      if (number === undefined) return parsed(undefined);
      return parsed(operationIdOf(sub === undefined ? number : `${number}-${sub}`, within));
    },
  };
}

/** Indicators as text, as ABAP and converters from XML write them. */
const SET: readonly string[] = ['X', 'TRUE'];
const NOT_SET: readonly string[] = ['', 'FALSE'];

/** Indicators, each with its system status code. */
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

/** The system statuses whose indicators are set. Refuses an indicator with any other value. */
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
  readField: (record) => {
    const flagged = readFlags(record, OPERATION_FLAGS);
    return flagged.ok ? parsed(statusOf(flagged.value)) : flagged;
  },
};

/** Scheduled starts in order of preference: earliest, then latest. */
const STARTS = [
  ['OpErlstSchedldExecStrtDte', 'OpErlstSchedldExecStrtTme'],
  ['OpLtstSchedldExecStrtDte', 'OpLtstSchedldExecStrtTme'],
].map(([date = '', time = '']) => ({ date: text(date), time: text(time) }));

export const plannedStart: FieldReader<number> = {
  names: STARTS.flatMap(({ date }) => date.names),
  readField: (record, context) => {
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
 * Reads a date and its time, in the plant's zone. V2 writes the date as the milliseconds of its midnight in UTC and the
 * time as a duration since midnight, V4 writes both as ISO 8601.
 */
function readODataTime(start: { date?: string; time?: string }): LocalTime | 'absent' | 'invalid' {
  const { date, time } = start;
  if (date === undefined) return 'absent';
  return readLocalTime(dayOf(date), time === undefined ? undefined : timeOfDay(time));
}

/** A date without its time; unchanged where it is invalid, for the caller to refuse. */
function dayOf(text: string): string {
  const milliseconds = V2_DATE.exec(text)?.[1];
  if (milliseconds !== undefined) return utcDay(Number(milliseconds)) ?? text;
  // with an offset it is still midnight of the day in UTC, converted to the zone of a gateway
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
 * The last change of a V2 entity. An invalid time is refused: with the time of the record, an old state of the order
 * could supersede a newer one.
 */
export const lastChange = fieldReader<number>(['LastChangeDateTime'], (value) => {
  const read = textOf(value);
  if ('problem' in read) return read;
  const text = isoOf(read.value ?? '');
  if (isInitial(text)) return { value: undefined };
  const seconds = secondsOf(text);
  return seconds === undefined ? { problem: 'is no time' } : { value: seconds };
});

/** V2 milliseconds as ISO 8601; any other text unchanged. */
function isoOf(text: string): string {
  const date = new Date(Number(V2_DATE.exec(text)?.[1]));
  return Number.isNaN(date.getTime()) ? text : date.toISOString();
}

/** Epoch seconds of 14 digits (UTC) or ISO 8601; undefined for neither. */
function secondsOf(text: string): number | undefined {
  // a date without a time would be older than the other changes of its day
  const seconds = text.includes('T') ? readDateTime(text, 'UTC') : 'invalid';
  if (typeof seconds === 'number') return seconds;
  const local = readLocalTime(text.slice(0, 8), text.slice(8, 14));
  return typeof local === 'object' ? utcSeconds(local) : undefined;
}
