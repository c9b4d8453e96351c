// npm test [tier | Jest's arguments]: installs, builds, starts a new Kafka and runs the tests. The last line is "N
// passed, N failed". Without arguments the tier is `quick`; see tools/test/tiers.mjs.
import './setup/require-node.mjs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findKafka } from './kafka/find-kafka.mjs';
import { spawnGuarded } from './process/guarded.mjs';
import { createShutdown } from './process/shutdown.mjs';
import { runCommand, setUp } from './setup.mjs';
import { LOCAL, ROOT, say, secondsSince, showUsage } from './setup/command.mjs';
import { countTests, sumOf } from './test/count-tests.mjs';
import { findChromium } from './test/find-chromium.mjs';
import { jestArguments, TIERS } from './test/tiers.mjs';

const USAGE = `npm test [-- <tier>] [<part of a path>…] [<Jest's options>]
Installs, builds and starts what the tests need. Tiers: ${Object.keys(TIERS).join(', ')}; without one ${'`quick`'}, or
what the paths name. The last line is "N passed, M failed". Such as:
  npm test -- test/e2e/poison
  npm run test:rest -- secured-kafka
  npm run test:unit -- --testNamePattern ledger
More: docs/testing.md`;

showUsage(USAGE, { takesArguments: true });
const RESULT = join(LOCAL, `test-result-${process.pid}.json`);
const [first = 'quick', ...others] = process.argv.slice(2);
const RUNS = Object.hasOwn(TIERS, first) ? TIERS[first] : [runOf([first, ...others])];
const NOT_RUN = `
NOT RUN: the tests of the terminal's page in test/browser, because there is no Chromium here.
Install one (Debian: apt-get install chromium), or name it in CHROMIUM_PATH.
`;
const startMs = performance.now();
let counts = { passed: 0, failed: 1 };
let hasBrowser = true;

const shutdown = createShutdown({
  interruptedCode: 130,
  say,
  beforeExit: () => {
    if (!hasBrowser) say(NOT_RUN);
    say(`in ${secondsSince(startMs)}`);
    console.log(`${counts.passed} passed, ${counts.failed} failed`);
  },
});

await runCommand(
  () => test().catch(shutdown.unlessStopping),
  () => shutdown.end(1),
);

async function test() {
  const runs = await runsThatCanBe();
  const needsKafka = runs.some((run) => run.needsKafka);
  // only processes of the apps run the built code, and these need Kafka: this one, or a test's own
  await setUp({ build: needsKafka || runs.some((run) => run.needsBuild) });
  const env = { ...process.env };
  if (needsKafka) {
    const kafka = await findKafka('test');
    shutdown.add('Kafka', kafka.stop, kafka.kill);
    env.KAFKA_BROKERS = kafka.brokers;
  }
  const counted = [];
  for (const run of runs) {
    const args = run.args ?? jestArguments(run, others);
    const code = await runJest(args, { ...env, ...run.env });
    // Ctrl-C has ended Jest; the remaining runs do not begin
    if (shutdown.signal.aborted) return;
    counted.push(countTests(await readFile(RESULT, 'utf8').catch(() => ''), code));
    await rm(RESULT, { force: true });
  }
  counts = sumOf(counted);
  if (counts.passed === 0 && counted.every(({ failed }) => failed === 0))
    say('\nNo test was run: no file or name matches the arguments.');
  // in CI, tests that were left out count as a failure; without CI, the user has seen the message
  if (!hasBrowser && process.env.CI) counts.failed += 1;
  await shutdown.end(counts.failed === 0 ? 0 : 1);
}

/** A run of paths or patterns given to Jest, of any tier. */
function runOf(args) {
  const isOfBrowser = args.some((arg) => arg.includes('test/browser'));
  return { args, needsKafka: true, needsBrowser: isOfBrowser };
}

/** All runs except that of the browser tests if there is no browser. If only these were asked for, they fail. */
async function runsThatCanBe() {
  if (!RUNS.some((run) => run.needsBrowser)) return RUNS;
  const chromium = await findChromium();
  hasBrowser = chromium !== undefined;
  if (hasBrowser) {
    process.env.CHROMIUM_PATH = chromium;
    return RUNS;
  }
  say(NOT_RUN);
  return RUNS.length > 1 ? RUNS.filter((run) => !run.needsBrowser) : RUNS;
}

async function runJest(asked, env) {
  await mkdir(LOCAL, { recursive: true });
  const args = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  // for Jest's workers, too: every test file fills the young heap with its modules
  args.push('--max-semi-space-size=64');
  const jest = join(ROOT, 'node_modules/jest/bin/jest.js');
  const report = ['--json', `--outputFile=${RESULT}`];
  const run = spawnGuarded(process.execPath, [...args, jest, ...report, ...asked], {
    cwd: ROOT,
    env,
  });
  shutdown.add('Jest', run.stop, run.kill);
  const { code } = await run.exited;
  return code ?? 1;
}
