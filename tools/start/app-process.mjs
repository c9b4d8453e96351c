import { mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { spawnGuarded } from '../process/guarded.mjs';
import { lastLines, LOCAL, ROOT, SetupError } from '../setup/command.mjs';
import { NODE_OPTIONS } from './node-options.mjs';

// the bridge itself takes up to 10 s for the calls in flight
const GRACE_MS = 12_000;
const HEALTHY_TIMEOUT_MS = 60_000;

export function startApp(name, env) {
  const options = NODE_OPTIONS[name] ?? [];
  return startProgram(name, [...options, join(ROOT, `dist/apps/${name}/src/main.js`)], env);
}

/** Starts a Node program like {@link startCommand}. */
export function startProgram(name, args, env) {
  return startCommand(name, [process.execPath, '--enable-source-maps', ...args], env);
}

/** Starts a command with its output in `.local/logs/<name>.log`. `ended` yields how it ended, as text for the user. */
export function startCommand(name, [command, ...args], env) {
  const log = join(LOCAL, 'logs', `${name}.log`);
  mkdirSync(join(LOCAL, 'logs'), { recursive: true });
  const options = { cwd: ROOT, env, output: { log }, graceMs: GRACE_MS };
  const program = spawnGuarded(command, args, options);
  const ended = program.exited.then(async ({ code, signal, error }) => {
    const lines = lastLines(await readFile(log, 'utf8').catch(() => '')).join('\n');
    return `The ${name} ended (${error ?? `exit ${code ?? signal}`}). Its last lines, of ${log}:\n${lines}`;
  });
  const { started: pid, stop, kill } = program;
  return { name, log, ended, pid, stop, kill };
}

/** Waits until `url` answers 200. @throws SetupError when the app ends, or is not healthy in time */
export async function untilHealthy(app, url) {
  const deadline = Date.now() + HEALTHY_TIMEOUT_MS;
  while (!(await isHealthy(url))) {
    const end = await Promise.race([app.ended, delay(100)]);
    if (end !== undefined) throw new SetupError(end);
    if (Date.now() > deadline) {
      throw new SetupError(`The ${app.name} does not answer 200 on ${url}; see ${app.log}`);
    }
  }
}

async function isHealthy(url) {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(2000) });
    await answer.arrayBuffer();
    return answer.ok;
  } catch {
    return false;
  }
}
