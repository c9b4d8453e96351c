import { readEpochSeconds } from './epoch-seconds.js';
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
