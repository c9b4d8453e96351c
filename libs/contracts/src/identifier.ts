const MAX_IDENTIFIER_LENGTH = 256;

// control characters steer terminals and break headers; half a surrogate pair cannot be written as UTF-8
const UNUSABLE = /[\p{Cc}\p{Cs}]/u;

/** What is wrong with an identifier, to follow the field's name; undefined when it is sound. */
export function identifierProblem(value: unknown): string | undefined {
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
