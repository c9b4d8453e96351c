// npm test: everything that is needed, a fresh Kafka, every test; the last line is "N passed, N failed".
import './setup/require-node.mjs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findKafka } from './kafka/find-kafka.mjs';
import { spawnGuarded } from './process/guarded.mjs';
import { createShutdown } from './process/shutdown.mjs';
import { runCommand, setUp } from './setup.mjs';
import { LOCAL, ROOT } from './setup/root.mjs';
import { say } from './setup/steps.mjs';
import { countTests } from './test/count-tests.mjs';
import { findChromium } from './test/find-chromium.mjs';

const RESULT = join(LOCAL, `test-result-${process.pid}.json`);
const ASKED_FOR = process.argv.slice(2);
/**
 * Processes that are killed by the dozen come last: what goes by the clock must not run beside them. The tests of
 * the terminal's page are a run of their own because they need a browser.
 */
const BROWSER_RUN = ['--testPathPatterns', '/test/browser/'];
const RUNS =
  ASKED_FOR.length > 0
    ? [ASKED_FOR]
    : [
        ['--testPathIgnorePatterns', '/node_modules/', '/test/chaos/', '/test/browser/'],
        BROWSER_RUN,
        ['--testPathPatterns', '/test/chaos/'],
      ];
const NOT_RUN = `
NOT RUN: the tests of the terminal's page in test/browser, because there is no Chromium here.
Install one (Debian: apt-get install chromium), or name it in CHROMIUM_PATH.
`;
let counts = { passed: 0, failed: 1 };
let hasBrowser = true;

const shutdown = createShutdown({
  interruptedCode: 130,
  say,
  beforeExit: () => {
    if (!hasBrowser) say(NOT_RUN);
    console.log(`${counts.passed} passed, ${counts.failed} failed`);
  },
});

await runCommand(test, () => shutdown.end(1));

async function test() {
  await setUp();
  const runs = await runsThatCanBe();
  const kafka = await findKafka('test');
  shutdown.add('Kafka', kafka.stop, kafka.kill);
  let [passed, failed] = [0, 0];
  for (const args of runs) {
    const code = await runJest(kafka.brokers, args);
    // Ctrl-C has ended Jest, and the rest is not begun.
    if (shutdown.signal.aborted) return;
    const run = countTests(await readFile(RESULT, 'utf8').catch(() => ''), code);
    await rm(RESULT, { force: true });
    passed += run.passed;
    failed += run.failed;
  }
  // what was left out is never passed over where it counts; who asked for it has seen it fail
  if (runs.length < RUNS.length && process.env.CI) failed += 1;
  counts = { passed, failed };
  await shutdown.end(counts.failed === 0 ? 0 : 1);
}

/** All runs, but for that of the browser where none can be had: those who ask for it see it fail. */
async function runsThatCanBe() {
  const isAskedFor = ASKED_FOR.some((asked) => asked.includes('test/browser'));
  if (!RUNS.includes(BROWSER_RUN) && !isAskedFor) return RUNS;
  const chromium = await findChromium();
  hasBrowser = chromium !== undefined;
  if (!hasBrowser) {
    say(NOT_RUN);
    return RUNS.filter((run) => run !== BROWSER_RUN);
  }
  process.env.CHROMIUM_PATH = chromium;
  return RUNS;
}

async function runJest(brokers, asked) {
  await mkdir(LOCAL, { recursive: true });
  const args = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  const jest = join(ROOT, 'node_modules/jest/bin/jest.js');
  const report = ['--json', `--outputFile=${RESULT}`];
  const env = { ...process.env, KAFKA_BROKERS: brokers };
  const run = spawnGuarded(process.execPath, [...args, jest, ...report, ...asked], {
    cwd: ROOT,
    env,
  });
  shutdown.add('Jest', run.stop, run.kill);
  const { code } = await run.exited;
  return code ?? 1;
}
