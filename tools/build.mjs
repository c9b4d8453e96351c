// npm run build: compiles apps and libs into dist/, unless dist/ is up to date.
import './setup/require-node.mjs';
import { runCommand, setUp } from './setup.mjs';
import { say, showUsage } from './setup/command.mjs';

showUsage('npm run build\nBuilds apps and libs into dist/, unless that is up to date.');

await runCommand(async () => {
  await setUp();
  say('dist/ is up to date');
});
