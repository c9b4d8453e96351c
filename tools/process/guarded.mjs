import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const GUARD = fileURLToPath(new URL('./guard.mjs', import.meta.url));

/**
 * Starts a command that ends when this process ends, for whatever reason.
 *
 * `output` is `'inherit'`, `'pipe'` or `{log}`, a file; `graceMs` is the time between SIGTERM and SIGKILL; `afterwards`
 * are command lines to run after the command has ended, also if this process is gone. `exited` never rejects: it yields
 * `{code, signal, error?}`.
 */
export function spawnGuarded(command, args, options = {}) {
  const { output = 'inherit', graceMs = 5000, afterwards = [], env = process.env, cwd } = options;
  const task = JSON.stringify({ command, args, graceMs, afterwards });
  const written = output.log === undefined ? output : openSync(output.log, 'w');
  const guard = spawn(process.execPath, [GUARD, task], {
    detached: true,
    env,
    cwd,
    stdio: ['ignore', written, written, 'ipc'],
  });
  if (written !== output) closeSync(written);
  const running = {
    guardPid: guard.pid,
    pid: undefined,
    stdout: guard.stdout,
    stderr: guard.stderr,
  };
  running.started = new Promise((resolve) => {
    guard.on('message', (message) => {
      if (message.pid === undefined) return;
      running.pid = message.pid;
      resolve(message.pid);
    });
    guard.on('exit', () => resolve(undefined));
  });
  running.exited = outcomeOf(guard);
  running.stop = (withinMs) => sendTo(guard, running, { signal: 'SIGTERM', withinMs });
  running.kill = () => sendTo(guard, running, { signal: 'SIGKILL' });
  return running;
}

function outcomeOf(guard) {
  return new Promise((resolve) => {
    let result;
    guard.on('message', (message) => {
      if (message.result) result = message.result;
    });
    guard.on('error', (error) => resolve({ code: 127, signal: null, error: error.message }));
    guard.on('exit', () => {
      // a guard that was killed leaves its group behind
      if (!result) endGroup(guard.pid);
      resolve(result ?? { code: null, signal: 'SIGKILL', error: 'its guard was killed' });
    });
  });
}

async function sendTo(guard, running, message) {
  if (guard.connected) guard.send(message, () => undefined);
  return running.exited;
}

/** Ends the processes left in a guard's process group; the group may be gone already. */
function endGroup(guardPid) {
  try {
    process.kill(-guardPid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}
