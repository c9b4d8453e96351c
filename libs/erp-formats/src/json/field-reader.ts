import {
  describeJson,
  field,
  type JsonObject,
  type OrderStatus,
  parsed,
  type Parsed,
  rejected,
} from '#libs/contracts';
import type { ReadingContext } from '../document/order-format.js';
import { readDateTime } from '../time/local-time.js';
import { type JsonRecord, pathTo } from './json-record.js';

/** Reads one value out of a record: undefined where it says nothing, a rejection with the place where it is unclear. */
export interface FieldReader<T> {
  /** Fields by preference, as rejections and pages name them. */
  names: readonly string[];
  read: (record: JsonRecord, context: ReadingContext) => Parsed<T | undefined>;
}

/** A value, or what is wrong with it, to follow the field's name. */
type Reading<T> = { value: T | undefined } | { problem: string };

/** Reads the first field that holds anything. Null, blanks and `false`, which Odoo writes for none, hold nothing. */
export function fieldReader<T>(
  names: readonly string[],
  readValue: (value: unknown, context: ReadingContext, fields: JsonObject) => Reading<T>,
): FieldReader<T> {
  return {
    names,
    read: (record, context) => {
      const name = names.find((each) => !isBlank(field(record.fields, each)));
      if (name === undefined) return parsed(undefined);
      const reading = readValue(field(record.fields, name), context, record.fields);
      if ('value' in reading) return parsed(reading.value);
      return rejected('invalid-message', `${pathTo(record, name)} ${reading.problem}`);
    },
  };
}

function isBlank(value: unknown): boolean {
  if (typeof value === 'string') return value.trim() === '';
  return value === undefined || value === null || value === false;
}

/** Text, trimmed. Numbers are refused: 10 may have been 0010. */
export function text(...names: string[]): FieldReader<string> {
  return fieldReader(names, textOf);
}

export function textOf(value: unknown): Reading<string> {
  if (typeof value === 'string') return { value: value.trim() };
  return { problem: `must be text, not ${describeJson(value)}` };
}

/** Text, or the whole number by which the sender knows it. */
export function textOrNumber(...names: string[]): FieldReader<string> {
  return fieldReader(names, (value) =>
    Number.isSafeInteger(value) ? { value: String(value) } : textOf(value),
  );
}

/** A status by the text in a field, whatever its case; undefined for a text that says nothing of it. */
export function status(
  byText: Readonly<Record<string, OrderStatus | undefined>>,
  ...names: string[]
): FieldReader<OrderStatus> {
  const statuses = new Map(Object.entries(byText).map(([key, of]) => [key.toLowerCase(), of]));
  return fieldReader(names, (value) => {
    const key = typeof value === 'string' ? value.trim().toLowerCase() : undefined;
    if (key !== undefined && statuses.has(key)) return { value: statuses.get(key) };
    const found = typeof value === 'string' ? value.slice(0, 50) : describeJson(value);
    return { problem: `is no known status: ${found}` };
  });
}

/**
 * A date with a time, or a date for its midnight, in epoch seconds. Without an offset it is in UTC or, of the `plant`,
 * in `ERP_TIME_ZONE`, where a `change` has passed. Dates that stand for none are none.
 */
export function time(
  zone: 'UTC' | 'plant' | 'plant, change',
  ...names: string[]
): FieldReader<number> {
  return fieldReader(names, (value, { timeZone, recordedAt }) => {
    const text = typeof value === 'string' ? value.trim() : '';
    const passedBy = zone === 'plant, change' ? recordedAt : undefined;
    const seconds = readDateTime(text, zone === 'UTC' ? 'UTC' : timeZone, passedBy);
    if (seconds === 'invalid') return { problem: 'is no date and time' };
    return { value: seconds === 'absent' ? undefined : seconds };
  });
}

/** Readers by the name of the value that they read. */
export type Readers<T> = { readonly [K in keyof T]?: FieldReader<NonNullable<T[K]>> };

/** All values that a record has, or the first fault. */
export function readFields<T extends object>(
  record: JsonRecord,
  readers: Readers<T>,
  context: ReadingContext,
): Parsed<Partial<T>> {
  if (record.notObject !== undefined) {
    return rejected('invalid-message', `${record.path} must be an object, not ${record.notObject}`);
  }
  const values: Partial<T> = {};
  for (const name of Object.keys(readers) as (keyof T)[]) {
    const read = readers[name]?.read(record, context);
    if (read === undefined) continue;
    if (!read.ok) return read;
    if (read.value !== undefined) values[name] = read.value;
  }
  return parsed(values);
}
