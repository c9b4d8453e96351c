// npm run start:bridge, start:sandbox, send, dlq: runs a program of dist/apps/ in this same process, so that its
// signals, output and exit code are its own.
import './setup/require-node.mjs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { exitUntilTakenOver } from './process/exit-until-taken-over.mjs';
import { watchNpm } from './process/parent-watch.mjs';
import { dropSignalEchoes } from './process/signal-echo.mjs';
import { runCommand, setUp } from './setup.mjs';
import { ROOT, showUsage } from './setup/command.mjs';

const program = process.argv[2];
if (!program.startsWith('cli/')) {
  const [name] = program.split('/');
  const page = name === 'bridge' ? 'operations' : name;
  const usage = `npm run start:${name}\nTakes its settings from the environment: docs/${page}.md#settings`;
  showUsage(usage, { args: process.argv.slice(3) });
  // a signal ends a command as it ends any program, unless the command listens to it
  exitUntilTakenOver();
}
await runCommand(() => setUp());
dropSignalEchoes();
watchNpm(() => process.kill(process.pid, 'SIGTERM'));
process.argv.splice(1, 2, join(ROOT, `dist/apps/${program}.js`));
await import(pathToFileURL(process.argv[1]).href);
