import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { eventually } from '../support/eventually.js';

const GUARDED = resolve(import.meta.dirname, '../../tools/process/guarded.mjs');

/** A process that starts a command which ignores SIGTERM, and prints the numbers of the command and its guard. */
const ASKER = `
  const { spawnGuarded } = await import(${JSON.stringify(GUARDED)});
  const stubborn = 'process.on("SIGTERM", () => undefined); setInterval(() => undefined, 1000);';
  const running = spawnGuarded(process.execPath, ['-e', stubborn], { graceMs: 200 });
  console.log(JSON.stringify({ pid: await running.started, guardPid: running.guardPid }));
  process.on('message', async () => {
    await running.stop();
    console.log(JSON.stringify({ pid: 0, guardPid: 0 }));
    process.exit(0);
  });
`;

interface Numbers {
  pid: number;
  guardPid: number;
}

const askers: ChildProcess[] = [];

afterEach(() => {
  for (const asker of askers.splice(0)) asker.kill('SIGKILL');
});

function startAsker(): { asker: ChildProcess; numbers: Promise<Numbers> } {
  const asker = spawn(process.execPath, ['--input-type=module', '-e', ASKER], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  askers.push(asker);
  const lines = createInterface({ input: asker.stdout! });
  const numbers = once(lines, 'line').then(([line]) => JSON.parse(String(line)) as Numbers);
  return { asker, numbers };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('a guarded command', () => {
  it('ends when the process that asked for it is killed with SIGKILL', async () => {
    const { asker, numbers } = startAsker();
    const { pid, guardPid } = await numbers;
    expect([isAlive(pid), isAlive(guardPid)]).toEqual([true, true]);

    asker.kill('SIGKILL');

    await eventually(() => !isAlive(pid) && !isAlive(guardPid));
  });

  it('ends, by SIGKILL if need be, when it is stopped', async () => {
    const { asker, numbers } = startAsker();
    const { pid, guardPid } = await numbers;

    asker.send('stop');
    await once(asker, 'exit');

    await eventually(() => !isAlive(pid) && !isAlive(guardPid));
  });

  it('ends when its guard is killed', async () => {
    const { numbers } = startAsker();
    const { pid, guardPid } = await numbers;

    process.kill(guardPid, 'SIGKILL');

    await eventually(() => !isAlive(pid));
  });
});
