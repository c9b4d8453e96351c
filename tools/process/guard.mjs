// Runs one command and makes sure that no process of it outlives the process that asked for it.
//
// The asking process may be ended with kill -9 and can then clean up nothing itself, but its IPC channel closes. The
// guard leads its own process group, so that a Ctrl-C in the terminal does not reach the command before its owner
// decides what to do, and so that the whole group can be ended.
import { spawn, spawnSync } from 'node:child_process';

const { command, args, graceMs, afterwards } = JSON.parse(process.argv[2]);
const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });
let ending = false;

function end(signal = 'SIGTERM', withinMs = graceMs) {
  if (signal === 'SIGKILL') child.kill('SIGKILL');
  if (ending) return;
  ending = true;
  child.kill(signal);
  setTimeout(() => child.kill('SIGKILL'), withinMs);
}

function finish(result) {
  for (const [program, ...rest] of afterwards) spawnSync(program, rest, { stdio: 'ignore' });
  const sweepGroup = () => process.kill(-process.pid, 'SIGKILL');
  if (!process.connected) sweepGroup();
  process.send({ result }, sweepGroup);
}

child.on('spawn', () => process.connected && process.send({ pid: child.pid }));
child.on('error', (error) => finish({ code: 127, signal: null, error: error.message }));
child.on('exit', (code, signal) => finish({ code, signal }));
process.on('message', ({ signal, withinMs }) => end(signal, withinMs));
process.on('disconnect', () => end());
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => end());
