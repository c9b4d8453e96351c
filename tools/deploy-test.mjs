// npm run test:deploy: checks the files in deploy/ with the programs that read them, which are fetched and built first,
// and builds and runs the images. The last line is "N passed, N failed".
import './setup/require-node.mjs';
import { join } from 'node:path';
import { checkExamples } from './deploy/check-examples.mjs';
import { checkImages } from './deploy/check-images.mjs';
import { checkKubernetes, renderManifests } from './deploy/check-kubernetes.mjs';
import { installDebianPackages } from './deploy/debian-packages.mjs';
import { goTool } from './deploy/go-tools.mjs';
import { createShutdown } from './process/shutdown.mjs';
import { runCommand, setUp } from './setup.mjs';
import { ROOT } from './setup/root.mjs';
import { runTool } from './setup/run-tool.mjs';
import { say, secondsSince, step } from './setup/steps.mjs';

/** Parts by name: all of them, or those that the arguments name. */
const PARTS = {
  rules: checkRules,
  units: checkUnits,
  workflow: checkWorkflow,
  kubernetes: checkKubernetes,
  images: checkImages,
  examples: checkExamples,
};
const named = process.argv.slice(2);
const startMs = performance.now();
let passed = 0;
let failed = 0;

const shutdown = createShutdown({
  interruptedCode: 130,
  say,
  beforeExit: (code) => {
    // an interrupted test has not passed
    if (code !== 0 && failed === 0) failed = 1;
    say(`in ${secondsSince(startMs)}`);
    console.log(`${passed} passed, ${failed} failed`);
  },
});

await runCommand(
  async () => {
    await setUp({ build: false });
    if (named[0] === 'render') {
      await renderManifests();
      process.exit();
    }
    for (const part of named.length > 0 ? named : Object.keys(PARTS)) {
      if (!Object.hasOwn(PARTS, part)) throw new Error(`${part}: no such part of the test`);
      await PARTS[part](check, shutdown);
    }
    await shutdown.end(failed === 0 ? 0 : 1);
  },
  () => shutdown.end(1),
);

async function checkRules() {
  const promtool = await goTool('promtool');
  const cwd = join(ROOT, 'deploy/prometheus');
  const rules = ['check', 'rules', '--lint=all', '--lint-fatal', 'rules.yaml'];
  await check('rules (promtool check rules)', () => runTool(promtool, rules, { cwd }));
  const tests = ['test', 'rules', 'rules.test.yaml'];
  await check('alerts (promtool test rules)', () => runTool(promtool, tests, { cwd }));
}

async function checkUnits() {
  await installDebianPackages({ 'systemd-analyze': 'systemd' });
  for (const name of ['machine-bridge', 'machine-terminal']) {
    const unit = join(ROOT, `deploy/systemd/${name}.service`);
    // Ten times the exposure level, at most: 20 is "OK".
    const args = ['security', '--offline=true', '--threshold=20', unit];
    await check(`${name}.service (systemd-analyze security)`, () =>
      runTool('systemd-analyze', args),
    );
  }
}

async function checkWorkflow() {
  const actionlint = await goTool('actionlint');
  await check('.github/workflows (actionlint)', () =>
    runTool(actionlint, [join(ROOT, '.github/workflows/ci.yml')]),
  );
}

/** Counts one check; one that fails is shown and does not end the others. */
async function check(name, work) {
  if (shutdown.signal.aborted) return;
  try {
    await step(name, work);
    passed += 1;
  } catch (error) {
    say(error.message);
    failed += 1;
  }
}
