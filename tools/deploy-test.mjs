// npm run test:deploy: checks the files in deploy/ with the programs that read them, which are fetched and built first.
// The last line is "N passed, N failed".
import './setup/require-node.mjs';
import { join } from 'node:path';
import { goTool } from './deploy/go-tools.mjs';
import { runCommand, setUp } from './setup.mjs';
import { ROOT } from './setup/root.mjs';
import { runTool } from './setup/run-tool.mjs';
import { say, step } from './setup/steps.mjs';

let passed = 0;
let failed = 0;

await runCommand(
  async () => {
    await setUp({ build: false });
    await checkRules();
    await checkUnits();
  },
  () => (failed += 1),
);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;

async function checkRules() {
  const promtool = await goTool('promtool');
  const cwd = join(ROOT, 'deploy/prometheus');
  const rules = ['check', 'rules', '--lint=all', '--lint-fatal', 'rules.yaml'];
  await check('rules (promtool check rules)', () => runTool(promtool, rules, { cwd }));
  const tests = ['test', 'rules', 'rules.test.yaml'];
  await check('alerts (promtool test rules)', () => runTool(promtool, tests, { cwd }));
}

async function checkUnits() {
  for (const name of ['machine-bridge', 'machine-terminal']) {
    const unit = join(ROOT, `deploy/systemd/${name}.service`);
    // Ten times the exposure level, at most: 20 is "OK".
    const args = ['security', '--offline=true', '--threshold=20', unit];
    await check(`${name}.service (systemd-analyze security)`, () =>
      runTool('systemd-analyze', args),
    );
  }
}

/** Counts one check; one that fails is shown and does not end the others. */
async function check(name, work) {
  try {
    await step(name, work);
    passed += 1;
  } catch (error) {
    say(error.message);
    failed += 1;
  }
}
