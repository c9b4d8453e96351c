// npm run check: types, lint, format, architecture rules, dead code, the document of topics and events.
// Shows the output of what fails, no test is run.
import './setup/require-node.mjs';
import { runChecks } from './check/run-checks.mjs';
import { runCommand, setUp } from './setup.mjs';
import { showUsage } from './setup/usage.mjs';

const CHECKS = [
  { name: 'lint (eslint)', tool: 'eslint/bin/eslint.js', args: ['.', '--max-warnings=0'] },
  { name: 'types (tsc)', tool: 'typescript/bin/tsc', args: ['--noEmit', '-p', '.'] },
  {
    name: "types of the terminal's page (tsc)",
    tool: 'typescript/bin/tsc',
    args: ['-p', 'apps/terminal/page'],
  },
  { name: 'types of its tests (tsc)', tool: 'typescript/bin/tsc', args: ['-p', 'test/browser'] },
  { name: 'format (prettier)', tool: 'prettier/bin/prettier.cjs', args: ['--check', '.'] },
  {
    name: 'architecture (dependency-cruiser)',
    tool: 'dependency-cruiser/bin/dependency-cruise.mjs',
    args: ['apps', 'libs', 'test'],
  },
  { name: 'dead code (knip)', tool: 'knip/bin/knip.js', args: [] },
  {
    name: 'picture of the architecture',
    script: 'tools/check/architecture.mjs',
    args: [],
  },
  { name: 'topics and events (asyncapi)', script: 'tools/check/asyncapi.mjs', args: [] },
];

showUsage(`npm run check
Checks, without a test:
${CHECKS.map(({ name }) => `  ${name}`).join('\n')}`);

await runCommand(async () => {
  await setUp({ build: false });
  process.exitCode = (await runChecks(CHECKS)) ? 0 : 1;
});
