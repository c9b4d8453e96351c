import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive } from '../process/parent-watch.mjs';
import { LOCAL } from './root.mjs';

const LOCK = join(LOCAL, 'setup.lock');

/** Keeps two commands started at once on a fresh clone from installing and building into each other's files. */
export async function withSetupLock(work) {
  await mkdir(LOCAL, { recursive: true });
  while (!(await tryLock())) await delay(200);
  try {
    return await work();
  } finally {
    await rm(LOCK, { force: true });
  }
}

async function tryLock() {
  try {
    await writeFile(LOCK, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  const holder = Number(await readFile(LOCK, 'utf8').catch(() => ''));
  if (holder === 0 ? await isOld() : !isAlive(holder)) await rm(LOCK, { force: true });
  return false;
}

/** An empty lock belongs to a holder that is just writing its number, or that was killed at that moment. */
async function isOld() {
  const { mtimeMs } = await stat(LOCK).catch(() => ({ mtimeMs: Date.now() }));
  return Date.now() - mtimeMs > 5000;
}
