import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive } from '../process/parent-watch.mjs';

/** Removes folders whose process, the number in the first group of `pattern`, is gone. Yields how many were removed. */
export async function removeLeftFolders(folder, pattern) {
  const names = await readdir(folder).catch(() => []);
  const left = names.filter((name) => {
    const pid = Number(pattern.exec(name)?.[1]);
    return pid > 0 && !isAlive(pid);
  });
  for (const name of left) await rm(join(folder, name), { recursive: true, force: true });
  return left.length;
}
