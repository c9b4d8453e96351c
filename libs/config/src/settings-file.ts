import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { realNowMs } from '#libs/clock';

const MAX_FILE_MIB = 64;
const MAX_FILE_BYTES = MAX_FILE_MIB * 1024 * 1024;
const PIECE_BYTES = 64 * 1024;
/** Limits for a pipe: a shell passes the output of a command by one, and the command may take some time. */
const WRITER_WAIT_MS = 10_000;
const NO_WRITER_WAIT_MS = 3_000;
const LOOK_AGAIN_MS = 10;
/** Without it, opening a named pipe blocks until it has a writer. Windows has no such flag. */
const WITHOUT_WAITING = constants.O_RDONLY | ((constants.O_NONBLOCK as number | undefined) ?? 0);

export class FileTooLargeError extends Error {
  constructor() {
    super(`it has more than ${MAX_FILE_MIB} MiB, or no end`);
  }
}

/**
 * Reads a file that a setting names. Blocks the process, for a pipe up to ten seconds; a pipe that has no writer within
 * three seconds is empty.
 *
 * @throws FileTooLargeError; Error with a code when the file cannot be read
 */
export function readSettingsFile(path: string): string {
  const descriptor = openSync(path, WITHOUT_WAITING);
  try {
    const isPipe = fstatSync(descriptor).isFIFO();
    const startMs = realNowMs();
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    const pieces: Buffer[] = [];
    let size = 0;
    while (size <= MAX_FILE_BYTES) {
      const length = readPiece(descriptor, piece);
      const mayFollow = length === undefined || (length === 0 && size === 0 && isPipe);
      const waitMs = length === undefined ? WRITER_WAIT_MS : NO_WRITER_WAIT_MS;
      if (mayFollow && realNowMs() - startMs < waitMs) {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_AGAIN_MS);
        continue;
      }
      if (length === undefined) throw Object.assign(new Error('timed out'), { code: 'ETIMEDOUT' });
      if (length === 0) return Buffer.concat(pieces).toString();
      pieces.push(Buffer.from(piece.subarray(0, length)));
      size += length;
    }
    throw new FileTooLargeError();
  } finally {
    closeSync(descriptor);
  }
}

/** Returns the number of bytes read; undefined if a pipe or a terminal has none yet. */
function readPiece(descriptor: number, piece: Buffer): number | undefined {
  try {
    return readSync(descriptor, piece);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return undefined;
    throw error;
  }
}

/**
 * Reads such a file in a running program: does not wait for a pipe, nor does a mount that hangs block the process.
 *
 * @throws as {@link readSettingsFile}
 */
export async function readSettingsFileAsync(path: string): Promise<string> {
  const file = await open(path, WITHOUT_WAITING);
  const pieces: Buffer[] = [];
  // The stream closes the file.
  for await (const piece of file.createReadStream({ end: MAX_FILE_BYTES })) {
    pieces.push(piece as Buffer);
  }
  const content = Buffer.concat(pieces);
  if (content.length > MAX_FILE_BYTES) throw new FileTooLargeError();
  return content.toString();
}

/** Differs once the file has changed. Includes the inode, since a mounted file is replaced by switching a link. */
export async function settingsFileVersion(path: string): Promise<string> {
  const { mtimeNs, size, ino } = await stat(path, { bigint: true });
  return [mtimeNs, size, ino].join(':');
}
