// npm run test:deploy: fetches and builds the programs that read the files in deploy/, checks the files with them, and
// builds and runs the images. The last line is "N passed, N failed".
import './setup/require-node.mjs';
import { join } from 'node:path';
import { goTool } from './deploy/go-tools.mjs';
import { createShutdown } from './process/shutdown.mjs';
import { runCommand, setUp } from './setup.mjs';
import { ROOT, runTool, say, secondsSince, SetupError, showUsage, step } from './setup/command.mjs';

/** Parts by name; all run unless the arguments name some. Most import packages, which may have to be installed first. */
const PARTS = {
  rules: async () => checkRules,
  units: async () => (await import('./deploy/check-units.mjs')).checkUnits,
  workflow: async () => checkWorkflow,
  kubernetes: async () => (await import('./deploy/check-kubernetes.mjs')).checkKubernetes,
  images: async () => (await import('./deploy/check-images.mjs')).checkImages,
  examples: async () => (await import('./deploy/check-examples.mjs')).checkExamples,
  monitoring: async () => (await import('./deploy/check-monitoring.mjs')).checkMonitoring,
};
const USAGE = `npm run test:deploy [-- <part>…]
Checks deploy/ and the images, see docs/testing.md. Parts, all unless some are named: ${Object.keys(PARTS).join(', ')}.
npm run test:deploy -- render writes deploy/kubernetes anew from the chart.`;

showUsage(USAGE, { takesArguments: true });
const named = process.argv.slice(2);
const startMs = performance.now();
/** One row for each check: `{name, passed, took, figure}`. */
const rows = [];

const shutdown = createShutdown({
  interruptedCode: 130,
  say,
  beforeExit: (code) => {
    const passed = rows.filter((row) => row.passed).length;
    const failed = rows.length - passed;
    showTable();
    say(`in ${secondsSince(startMs)}`);
    // an interrupted test has not passed
    console.log(`${passed} passed, ${code !== 0 && failed === 0 ? 1 : failed} failed`);
  },
});

await runCommand(
  async () => {
    await setUp({ build: false });
    if (named[0] === 'render') {
      const { renderManifests } = await import('./deploy/check-kubernetes.mjs');
      await renderManifests();
      process.exit();
    }
    for (const part of named.length > 0 ? named : Object.keys(PARTS)) {
      if (!Object.hasOwn(PARTS, part)) throw new SetupError(`There is no part ${part}.\n${USAGE}`);
      const checkPart = await PARTS[part]();
      await checkPart(check, shutdown);
    }
    await shutdown.end(rows.every((row) => row.passed) ? 0 : 1);
  },
  () => shutdown.end(1),
);

async function checkRules() {
  const promtool = await goTool('promtool');
  const cwd = join(ROOT, 'deploy/prometheus');
  const rules = ['check', 'rules', '--lint=all', '--lint-fatal', 'rules.yaml'];
  await check('rules (promtool check rules)', () => runTool(promtool, rules, { cwd }));
  const config = ['check', 'config', 'prometheus.yaml'];
  await check('prometheus.yaml (promtool check config)', () => runTool(promtool, config, { cwd }));
  const tests = ['test', 'rules', 'rules.test.yaml'];
  await check('alerts (promtool test rules)', () => runTool(promtool, tests, { cwd }));
}

async function checkWorkflow() {
  const actionlint = await goTool('actionlint');
  await check('.github/workflows (actionlint)', () =>
    runTool(actionlint, [join(ROOT, '.github/workflows/ci.yml')]),
  );
}

/**
 * Runs one check and keeps its row. A failure is shown and does not end the other checks.
 *
 * @param work may yield `{figure}` for the table, such as a size
 */
async function check(name, work) {
  if (shutdown.signal.aborted) return;
  const checkStartMs = performance.now();
  const row = { name, passed: false, figure: '' };
  rows.push(row);
  try {
    const result = await step(name, work);
    row.passed = true;
    row.figure = result?.figure ?? '';
  } catch (error) {
    say(error.message);
  } finally {
    row.took = secondsSince(checkStartMs);
  }
}

function showTable() {
  if (rows.length === 0) return;
  const width = Math.max(...rows.map(({ name }) => name.length));
  say('');
  for (const { name, passed, took, figure } of rows) {
    const result = passed ? '✔' : '✘';
    say(`${result} ${name.padEnd(width)}  ${(took ?? '').padStart(8)}  ${figure}`.trimEnd());
  }
}
