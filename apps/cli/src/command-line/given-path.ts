import { resolve } from 'node:path';
import { readEnvironment } from '#libs/config';

/**
 * A path from the command line, as whoever typed it meant it: npm runs scripts in the package's folder and says in
 * INIT_CWD where it was called. Relative paths in settings stay those of the process.
 */
export function givenPath(path: string, environment = readEnvironment()): string {
  const calledIn = environment['INIT_CWD'];
  // Resolved, an empty path would be the folder itself.
  return calledIn === undefined || path === '' ? path : resolve(calledIn, path);
}
