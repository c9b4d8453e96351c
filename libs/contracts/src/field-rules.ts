import { readEpochSeconds } from './epoch-seconds.js';
import { identifierProblem } from './identifier.js';
import type { ProblemOf } from './message-fields.js';

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
