// npm run build: apps and libs into dist/, unless that is up to date.
import './setup/require-node.mjs';
import { runCommand, setUp } from './setup.mjs';
import { say } from './setup/steps.mjs';
import { showUsage } from './setup/usage.mjs';

showUsage('npm run build\nBuilds apps and libs into dist/, unless that is up to date.');

await runCommand(async () => {
  await setUp();
  say('dist/ is up to date');
});
