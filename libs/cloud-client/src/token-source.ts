import { readFile, stat } from 'node:fs/promises';

/** Gives the access token for one request; cheap when nothing has changed. */
export type TokenSource = () => Promise<string>;

/** A token that never changes. */
export function fixedToken(token: string): TokenSource {
  const trimmed = token.trim();
  return () => Promise.resolve(trimmed);
}

/**
 * The content of a file without surrounding white space, read again whenever the file has changed.
 *
 * The source rejects, naming the path, while the file is missing, unreadable or empty.
 */
export function tokenFile(path: string): TokenSource {
  let known: { version: string; token: string } | undefined;
  return async () => {
    // looked at before reading: a change in between is then seen by the next call
    const version = await versionOf(path);
    if (known?.version !== version) known = { version, token: await readToken(path) };
    return known.token;
  };
}

/** Besides time and size the inode: a mounted secret is replaced by switching a link. */
async function versionOf(path: string): Promise<string> {
  const { mtimeNs, size, ino } = await stat(path, { bigint: true }).catch(unreadable(path));
  return [mtimeNs, size, ino].join(':');
}

async function readToken(path: string): Promise<string> {
  const token = (await readFile(path, 'utf8').catch(unreadable(path))).trim();
  if (token === '') throw new Error(`token file ${path} is empty`);
  return token;
}

function unreadable(path: string): (error: unknown) => never {
  return (error) => {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`token file ${path} cannot be read (${code ?? 'unknown error'})`);
  };
}
