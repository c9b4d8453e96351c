import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { columnOf, isAlive } from '../process/parent-watch.mjs';
import { SetupError } from '../setup/command.mjs';
import { layoutOf } from './data-folder.mjs';

const POLITE_MS = 8000;

/** Records the process that runs the broker of this folder, for a later run that finds it still alive. */
export async function noteBroker(dir, pid) {
  const record = { pid, owner: process.pid };
  await writeFile(layoutOf(dir).record, `${JSON.stringify(record)}\n`);
}

/**
 * Ends a broker that an earlier, crashed run left alive on this folder.
 *
 * @throws SetupError when that run is still going on
 */
export async function endEarlierBroker(dir) {
  const record = await readRecord(dir);
  if (!record || !isBrokerOf(dir, record.pid)) return;
  if (record.owner !== process.pid && /\bnode\b/.test(columnOf(record.owner, 'args'))) {
    throw new SetupError(
      `The Kafka data in ${dir} is in use by another run (process ${record.owner}).\n` +
        `Stop that one first (Ctrl-C in its terminal, or: kill ${record.owner}).`,
    );
  }
  process.kill(record.pid, 'SIGTERM');
  const deadline = Date.now() + POLITE_MS;
  while (isBrokerOf(dir, record.pid)) {
    if (Date.now() > deadline) process.kill(record.pid, 'SIGKILL');
    await delay(100);
  }
}

/** Whether the process is this folder's broker: its number may belong to another program by now. */
function isBrokerOf(dir, pid) {
  if (!isAlive(pid)) return false;
  const commandLine = columnOf(pid, 'args');
  return commandLine.includes('kafka.Kafka') && commandLine.includes(layoutOf(dir).properties);
}

async function readRecord(dir) {
  try {
    return JSON.parse(await readFile(layoutOf(dir).record, 'utf8'));
  } catch {
    return undefined;
  }
}
