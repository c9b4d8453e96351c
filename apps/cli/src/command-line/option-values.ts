import { createReadStream } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { readEnvironment } from '#libs/config';
import { readEpochSeconds } from '#libs/contracts';

// The functions that read an option's value throw InvalidArgumentError.

/** A timer of a month overflows and fires at once. */
const LEAST_RATE = 0.001;

export function readCount(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

export function readPositive(text: string): number {
  const count = readCount(text);
  if (count === 0) throw new InvalidArgumentError('It must be 1 or more.');
  return count;
}

/** A number per second, with or without a fraction. */
export function readRate(text: string): number {
  const rate = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text) || rate < LEAST_RATE) {
    throw new InvalidArgumentError(`It must be a number from ${LEAST_RATE}.`);
  }
  return rate;
}

export function readTime(text: string): number {
  const time = readEpochSeconds(text);
  if (!time.ok) throw new InvalidArgumentError(`It ${time.problem}.`);
  return time.seconds;
}

export function readLimit(text: string, most: number): number {
  const limit = readCount(text);
  if (limit < 1 || limit > most) {
    throw new InvalidArgumentError(`It must lie between 1 and ${most}.`);
  }
  return limit;
}

export function readNotEmpty(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('It must not be empty.');
  return text;
}

/** The URL of a bridge, without a login. */
export function readUrl(text: string): string {
  if (URL.canParse(text)) {
    const { protocol, username, password } = new URL(text);
    if (/^https?:$/.test(protocol) && username + password === '') return text;
  }
  throw new InvalidArgumentError('It must be a URL such as http://127.0.0.1:3000.');
}

/**
 * Resolves a path against the folder in which npm was called: npm runs scripts in the package's folder, and sets
 * INIT_CWD to the caller's. Relative paths in settings refer to the folder of the process.
 */
export function readPath(path: string, environment = readEnvironment()): string {
  const calledIn = environment['INIT_CWD'];
  // an empty path would resolve to the folder itself
  return calledIn === undefined || path === '' ? path : resolve(calledIn, path);
}

/** Reads at most `most` + 1 bytes of a file, because a device may be endless. More than `most`: the file is larger. */
export async function readUpTo(path: string, most: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of createReadStream(path, { end: most })) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** The default of `--by`: `user@host`. In a container, the user may have no name. */
export function whoCalls(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    return `unknown@${hostname()}`;
  }
}

export function unreadableBecause(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'there is no such file';
  if (code === 'EISDIR') return 'it is a folder: name its files';
  if (code === 'EACCES') return 'it may not be read by this user';
  return message;
}
