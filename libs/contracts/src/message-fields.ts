import { describeJson, field, isJsonObject } from './json.js';
import { parsed, type Parsed, rejected, type RejectionCode } from './rejection.js';

/** For the id of a machine, a reason, an order or an operation, in characters. */
export const MAX_IDENTIFIER_LENGTH = 256;

// control characters steer terminals and break headers; half a surrogate pair cannot be written as UTF-8
const UNUSABLE = /[\p{Cc}\p{Cs}]/u;

/** The fault of an identifier, to follow the field's name; undefined when it is valid. */
function identifierProblem(value: unknown): string | undefined {
  if (typeof value !== 'string') return 'must be a string';
  if (value.length > MAX_IDENTIFIER_LENGTH) {
    return `must not be longer than ${MAX_IDENTIFIER_LENGTH} characters`;
  }
  if (value.trim() === '') return 'must not be empty';
  if (UNUSABLE.test(value)) return 'must not hold control characters or broken text';
  return undefined;
}

export function isIdentifier(value: unknown): value is string {
  return identifierProblem(value) === undefined;
}

/** Decodes percent-encoding. Returns a text with invalid encoding unchanged. */
export function uriDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The machineId of a message or of one of its entries, also where other fields are invalid. */
export function readableMachineId(entry: unknown): string | undefined {
  const machineId = isJsonObject(entry) ? field(entry, 'machineId') : undefined;
  return isIdentifier(machineId) ? machineId : undefined;
}

/** The fault of a field's value. The text follows the field's name. */
export class FieldProblem {
  constructor(
    readonly text: string,
    readonly code: RejectionCode = 'invalid-message',
  ) {}
}

/** Parses the value of a field. The problem of a list is that of its first bad entry. */
export type FieldParser<T> = (value: unknown) => T | FieldProblem;

/**
 * Reads the own fields of a message that have a reader, in the order of the readers. Leaves out other fields and
 * those without a value. The first fault becomes the rejection, with the path of its field.
 *
 * @param path of the entry in the message, such as `machines[3]`
 */
export function readFields<T extends object>(
  readers: { readonly [K in keyof T]-?: FieldParser<T[K]> },
  message: unknown,
  path = '',
): Parsed<T> {
  if (!isJsonObject(message)) {
    const what = `${path || 'the message'} must be an object, not ${describeJson(message)}`;
    return rejected('invalid-message', what);
  }
  const fields = {} as T;
  for (const name in readers) {
    const value = readers[name](field(message, name));
    if (value instanceof FieldProblem) {
      const gap = value.text.startsWith('[') ? '' : ' ';
      return rejected(value.code, `${path && `${path}.`}${name}${gap}${value.text}`);
    }
    if (value !== undefined) fields[name] = value;
  }
  return parsed(fields);
}

/** Bounds the machines of a message, the orders of a list, and the operations of an order. */
export const MAX_LIST_LENGTH = 10_000;

/** In an optional field of a message, null and the empty string mean the same as an absent field. */
export function isBlank(value: unknown): value is undefined | null | '' {
  return value === undefined || value === null || value === '';
}

export function optional<T>(read: FieldParser<T>): FieldParser<T | undefined> {
  return (value) => (isBlank(value) ? undefined : read(value));
}

export function required<T>(read: FieldParser<T>, code?: RejectionCode): FieldParser<T> {
  return (value) => (isBlank(value) ? new FieldProblem('is missing', code) : read(value));
}

export const identifier = required((value) => {
  const problem = identifierProblem(value);
  return problem === undefined ? (value as string) : new FieldProblem(problem);
});

/** Epoch seconds. */
export const time = required((value) => {
  const reading = readEpochSeconds(value);
  return reading.ok ? reading.seconds : new FieldProblem(reading.problem);
});

export const wholeNumber: FieldParser<number> = (value) =>
  Number.isSafeInteger(value) && Number(value) >= 0
    ? Number(value)
    : new FieldProblem(`must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`);

export const list = required((value): unknown[] | FieldProblem => {
  if (!Array.isArray(value)) return new FieldProblem('must be a list');
  if (value.length <= MAX_LIST_LENGTH) return value as unknown[];
  const fault = `has ${value.length} entries, more than ${MAX_LIST_LENGTH}`;
  return new FieldProblem(fault, 'too-large');
});

export const identifiers: FieldParser<string[]> = (value) => {
  const entries = list(value);
  if (entries instanceof FieldProblem) return entries;
  for (let index = 0; index < entries.length; index += 1) {
    const fault = identifierProblem(entries[index]);
    if (fault !== undefined) return new FieldProblem(`[${index}] ${fault}`);
  }
  return entries as string[];
};

/** A parsed time field: epoch seconds, or its fault as text that follows the field's name. */
type TimeReading = { ok: true; seconds: number } | { ok: false; problem: string };

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
