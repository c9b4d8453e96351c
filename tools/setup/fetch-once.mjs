import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { removeLeftFolders } from './left-folders.mjs';
import { step } from './command.mjs';

/**
 * Fills a folder unless it exists: completely or, if `fill(unfinished folder)` fails, not at all.
 *
 * @param folder its name begins with `<kind>-`; unfinished folders of that kind from other processes are removed
 */
export async function fetchOnce(folder, what, fill) {
  const [kind] = basename(folder).split('-');
  // of commands that were interrupted; the name of an unfinished folder ends in the number of its process
  await removeLeftFolders(dirname(folder), new RegExp(`^${kind}-.+\\.(\\d+)$`));
  if (existsSync(folder)) return;
  await step(what, async () => {
    const unfinished = `${folder}.${process.pid}`;
    // in a container, an earlier process may have had the same number
    await rm(unfinished, { recursive: true, force: true });
    await mkdir(unfinished, { recursive: true });
    try {
      await fill(unfinished);
      // another command may have been faster
      await rename(unfinished, folder).catch(() => undefined);
    } finally {
      await rm(unfinished, { recursive: true, force: true });
    }
  });
}
