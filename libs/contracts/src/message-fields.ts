import { readEpochSeconds } from './epoch-seconds.js';
import { field, type JsonObject } from './json.js';
import { parsed, type Parsed, rejected, type RejectionCode } from './rejection.js';

const MAX_IDENTIFIER_LENGTH = 256;

// control characters steer terminals and break headers; half a surrogate pair cannot be written as UTF-8
const UNUSABLE = /[\p{Cc}\p{Cs}]/u;

/** What is wrong with an identifier, to follow the field's name; undefined when it is sound. */
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

/** What is wrong with a value, to follow its field's name; undefined when nothing is. */
export type ProblemOf = (value: unknown) => string | undefined;

interface FieldRule {
  name: string;
  problemOf: ProblemOf;
  code: RejectionCode;
}

/** By the prototype of the DTO, in the order in which they are tried. */
const rulesOf = new WeakMap<object, readonly FieldRule[]>();

/**
 * A field's rule. The rule itself words the complaint, so that a list of ten thousand entries costs one check that
 * names the first bad index. Of several rules of one field the last one written is tried first.
 */
export function Field(
  problemOf: ProblemOf,
  code: RejectionCode = 'invalid-message',
): PropertyDecorator {
  return (prototype, name) => {
    const rule = { name: String(name), problemOf, code };
    rulesOf.set(prototype, [...(rulesOf.get(prototype) ?? []), rule]);
  };
}

/**
 * Reads the fields that a DTO declares out of a message, own ones only and as they are; every other field is left out.
 * The first fault becomes the rejection, its field named from the root by `path` (such as `machines[3].`).
 */
export function readFields<T extends object>(
  dto: new () => T,
  message: JsonObject,
  path = '',
): Parsed<T> {
  const instance = new dto();
  for (const { name, problemOf, code } of rulesOf.get(dto.prototype as object) ?? []) {
    const value = field(message, name);
    const problem = problemOf(value);
    if (problem !== undefined) {
      const gap = problem.startsWith('[') ? '' : ' ';
      return rejected(code, `${path}${name}${gap}${problem}`);
    }
    (instance as JsonObject)[name] = value;
  }
  return parsed(instance);
}

/** Entries in one list: machines of a message, orders of a list, operations of an order. */
export const MAX_LIST_LENGTH = 10_000;

/** Absent, null and the empty string all say "no value" in the optional fields of the messages. */
export function isBlank(value: unknown): value is undefined | null | '' {
  return value === undefined || value === null || value === '';
}

export const identifier: ProblemOf = (value) =>
  isBlank(value) ? 'is missing' : identifierProblem(value);

export const optionalIdentifier: ProblemOf = (value) =>
  isBlank(value) ? undefined : identifierProblem(value);

export const present: ProblemOf = (value) => (isBlank(value) ? 'is missing' : undefined);

export const optionalTime: ProblemOf = (value) => {
  if (isBlank(value)) return undefined;
  const reading = readEpochSeconds(value);
  return reading.ok ? undefined : reading.problem;
};

export const time: ProblemOf = (value) => present(value) ?? optionalTime(value);

export const optionalWholeNumber: ProblemOf = (value) =>
  isBlank(value) || (Number.isSafeInteger(value) && Number(value) >= 0)
    ? undefined
    : 'must be a whole number, 0 or above';

const list: ProblemOf = (value) => {
  if (isBlank(value)) return 'is missing';
  return Array.isArray(value) ? undefined : 'must be a list';
};

export const optionalList: ProblemOf = (value) => (isBlank(value) ? undefined : list(value));

export const listLength: ProblemOf = (value) =>
  Array.isArray(value) && value.length > MAX_LIST_LENGTH
    ? `has ${value.length} entries, more than ${MAX_LIST_LENGTH}`
    : undefined;

export const identifiers: ProblemOf = (value) => {
  const problem = list(value);
  if (problem !== undefined || !Array.isArray(value)) return problem;
  // an overlong list is refused by its length alone, whatever its entries are
  if (listLength(value) !== undefined) return undefined;
  for (let index = 0; index < value.length; index += 1) {
    const fault = identifierProblem(value[index]);
    if (fault !== undefined) return `[${index}] ${fault}`;
  }
  return undefined;
};

/** Epoch seconds of a field that its rule has already found to be a time; undefined when blank. */
export function secondsOf(value: unknown): number | undefined {
  if (isBlank(value)) return undefined;
  const reading = readEpochSeconds(value);
  return reading.ok ? reading.seconds : undefined;
}
