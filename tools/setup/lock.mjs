import { mkdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive } from '../process/parent-watch.mjs';
import { LOCAL, ROOT, say } from './command.mjs';

const BEAT_MS = 1000;
/**
 * Without a heartbeat for this time the holder of the lock is gone, even if its number now belongs to another process,
 * as in a container.
 */
const STALE_MS = 10_000;
const SAY_AFTER_MS = 2000;

/**
 * Keeps two commands that start at once on a fresh clone from installing and building into each other's files. If the
 * lock cannot be written, as in another user's installation, these files cannot be written either.
 */
export async function withSetupLock(work, file = join(LOCAL, 'setup.lock')) {
  try {
    await mkdir(LOCAL, { recursive: true });
    await takeLock(file);
  } catch {
    return work();
  }
  const beat = setInterval(() => void touch(file), BEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(beat);
    await rm(file, { force: true });
  }
}

async function takeLock(file) {
  const startMs = performance.now();
  let isSaid = false;
  while (!(await tryLock(file))) {
    if (!isSaid && performance.now() - startMs > SAY_AFTER_MS) {
      const holder = await readFile(file, 'utf8').catch(() => '');
      say(`  … waiting for process ${holder}, which sets up here (${relative(ROOT, file)})`);
      isSaid = true;
    }
    await delay(200);
  }
}

async function tryLock(file) {
  try {
    await writeFile(file, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  if (await isStale(file)) await rm(file, { force: true });
  return false;
}

async function isStale(file) {
  const holder = Number(await readFile(file, 'utf8').catch(() => ''));
  // without a number, its holder is just writing it
  if (holder > 0 && !isAlive(holder)) return true;
  const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: Date.now() }));
  return Date.now() - mtimeMs > STALE_MS;
}

async function touch(file) {
  const now = new Date();
  await utimes(file, now, now).catch(() => undefined);
}
