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

/** Reads one value from a record: undefined where it has none, a rejection with its path where it is invalid. */
export interface FieldReader<T> {
  /** Fields in order of preference, by the names for rejections. */
  names: readonly string[];
  readField: (record: JsonRecord, context: ReadingContext) => Parsed<T | undefined>;
}

/** A value, or its fault as text that follows the field's name. */
type Reading<T> = { value: T | undefined } | { problem: string };

/** Reads the first field with a value. Null, blank text and `false`, which Odoo writes for none, are no value. */
export function fieldReader<T>(
  names: readonly string[],
  readValue: (value: unknown, context: ReadingContext, fields: JsonObject) => Reading<T>,
): FieldReader<T> {
  return {
    names,
    readField: (record, context) => {
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

/** Text, or an integer as text. */
export function textOrNumber(...names: string[]): FieldReader<string> {
  return fieldReader(names, (value) =>
    Number.isSafeInteger(value) ? { value: String(value) } : textOf(value),
  );
}

/** A status by the text of a field in any case; undefined for a text that does not determine it. */
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
 * A date with a time, or a date for its midnight, in epoch seconds. Without an offset it is in UTC or, with `plant`, in
 * `ERP_TIME_ZONE`; a `change` is in the past. Dates that mean none are absent.
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

/** Readers by the name of their value. */
export type Readers<T> = { readonly [K in keyof T]?: FieldReader<NonNullable<T[K]>> };

/** Reads all values of a record, or returns the first fault. */
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
    const read = readers[name]?.readField(record, context);
    if (read === undefined) continue;
    if (!read.ok) return read;
    if (read.value !== undefined) values[name] = read.value;
  }
  return parsed(values);
}
