import { readEpochSeconds, REJECTION_CODES, type RejectionCode } from '#libs/contracts';

/** What is limited is kept in memory. */
const MAX_LIMIT = 100_000;

/** Told by its code, commander says which option it is that the value is wrong for. */
class InvalidOptionError extends Error {
  readonly code = 'commander.invalidArgument';
}

/** @throws InvalidOptionError */
export function readCount(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidOptionError('It must be a whole number.');
  return Number(text);
}

/** @throws InvalidOptionError */
export function readTime(text: string): number {
  const time = readEpochSeconds(text);
  if (!time.ok) throw new InvalidOptionError(`It ${time.problem}.`);
  return time.seconds;
}

/** @throws InvalidOptionError */
export function readCode(text: string): RejectionCode {
  const code = REJECTION_CODES.find((known) => known === text);
  if (code === undefined) {
    throw new InvalidOptionError(`The codes are: ${REJECTION_CODES.join(', ')}.`);
  }
  return code;
}

/** @throws InvalidOptionError */
export function readLimit(text: string): number {
  const limit = readCount(text);
  if (limit < 1 || limit > MAX_LIMIT) {
    throw new InvalidOptionError(`It must lie between 1 and ${MAX_LIMIT}.`);
  }
  return limit;
}
