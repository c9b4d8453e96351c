// npm run check: types, lint, format, architecture rules, dead code, the document of topics and events. Shows the
// output of failed checks; runs no test.
import './setup/require-node.mjs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { runCommand, setUp } from './setup.mjs';
import { ROOT, runTool, say, secondsSince, showUsage } from './setup/command.mjs';

/** Each is a `tool` from node_modules, or a `script` of this repository. */
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
  { name: 'dead code (knip)', tool: 'knip/bin/knip.js' },
  { name: 'picture of the architecture', script: 'tools/check/architecture.mjs' },
  { name: 'topics and events (asyncapi)', script: 'tools/check/asyncapi.mjs' },
];

showUsage(`npm run check
Checks, without a test:
${CHECKS.map(({ name }) => `  ${name}`).join('\n')}`);

await runCommand(async () => {
  await setUp({ build: false });
  process.exitCode = (await runChecks()) ? 0 : 1;
});

/** Runs the checks in this order, as many at a time as there are cores. Yields whether all passed. */
async function runChecks() {
  const waiting = [...CHECKS];
  let allPassed = true;
  const work = async () => {
    for (let check = waiting.shift(); check; check = waiting.shift()) {
      allPassed = (await passes(check)) && allPassed;
    }
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), CHECKS.length) }, work));
  return allPassed;
}

async function passes({ name, tool, script, args = [] }) {
  const startMs = performance.now();
  try {
    const program = join(ROOT, script ?? join('node_modules', tool));
    await runTool(process.execPath, [program, ...args], { cwd: ROOT, shownLines: Infinity });
    say(`  ✔ ${name} (${secondsSince(startMs)})`);
    return true;
  } catch (error) {
    say(`  ✘ ${name} (${secondsSince(startMs)})\n${error.message}`);
    return false;
  }
}
