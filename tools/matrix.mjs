// npm run test:matrix [-- node@22 kafka@3.9.1:e2e … Jest's arguments]: runs the tests on each supported version of Node
// and Kafka, or on the named ones; the tier follows after a colon. The last line is "N passed, N failed".
import './setup/require-node.mjs';
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, rm } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { spawnGuarded } from './process/guarded.mjs';
import { createShutdown } from './process/shutdown.mjs';
import { runCommand, setUp } from './setup.mjs';
import { LOCAL, ROOT, runTool, say, SetupError, showUsage, step } from './setup/command.mjs';

const FOLDER = join(LOCAL, 'matrix');
const ALL = ['node@20.19', 'node@22', 'node@24', 'kafka@3.9.1', 'kafka@4.1.1', 'kafka@4.3.0'];
const NAME = /^(node|kafka)@([\d.]+)(?::([a-z0-9]+))?$/;
const NOT_COPIED = ['.git', '.local', 'coverage', 'dist', 'node_modules'];
/**
 * Warnings of Node, except that of a negative time-out: it comes from the published kafkajs, with which tests read and
 * write.
 */
const WARNING = /^\(node:\d+\)(?!.*TimeoutNegative).*Warning.*$/gm;

const USAGE = `npm run test:matrix [-- <version>[:<tier>]… <Jest's arguments>]
Versions: ${ALL.join(', ')}; all of them where none is named.`;

showUsage(USAGE, { takesArguments: true });
const args = process.argv.slice(2);
const named = args.filter((arg) => NAME.test(arg));
const names = named.length > 0 ? named : ALL;
const jestArgs = args.filter((arg) => !NAME.test(arg));
const results = [];

const shutdown = createShutdown({
  interruptedCode: 130,
  say,
  beforeExit: () => {
    for (const result of results) say(`${result.name}: ${inWords(result)}`);
    const sum = (key) => results.reduce((total, result) => total + result[key], 0);
    const unfinished = names.length - results.length;
    console.log(inWords({ passed: sum('passed'), failed: sum('failed') + unfinished }));
  },
});

await runCommand(matrix, () => shutdown.end(1));

async function matrix() {
  for (const name of names) {
    const [, kind, version, tier] = NAME.exec(name);
    say(`\n${name}`);
    const result = await (kind === 'node' ? onNode(version, tier) : onKafka(version, tier));
    if (shutdown.signal.aborted) return;
    results.push({ name, ...result });
  }
  await shutdown.end(results.every(({ failed }) => failed === 0) ? 0 : 1);
}

function inWords({ passed, failed }) {
  return `${passed} passed, ${failed} failed`;
}

/** Runs the tests in a copy of the project, whose packages this Node installs. */
async function onNode(version, tier = 'quick') {
  const node = await fetchNode(version);
  const copy = join(FOLDER, `project-${version}`);
  await step('copying the project', () => copyProject(copy));
  const said = await step('installing dependencies', () =>
    npm(node, ['ci', '--include=dev', '--no-audit', '--no-fund'], copy),
  );
  const unfit = said.split('\n').filter((line) => line.includes('EBADENGINE'));
  for (const line of unfit) say(line);
  const { passed, failed } = await runTests(node, copy, [tier, ...jestArgs]);
  return { passed, failed: failed + (unfit.length > 0 ? 1 : 0) };
}

async function onKafka(version, tier = 'e2e') {
  await setUp();
  const env = { KAFKA_VERSION: version, KAFKA_BROKERS: '' };
  return runTests(process.execPath, ROOT, [tier, ...jestArgs], env);
}

/** Fetches the newest Node of a version, as the npm package `node`. */
async function fetchNode(version) {
  const folder = join(FOLDER, `node-${version}`);
  const node = join(folder, 'node_modules/node/bin/node');
  if (existsSync(node)) return node;
  await mkdir(folder, { recursive: true });
  // a script of the package fetches the program for this system
  const install = ['install', '--prefix', folder, '--no-save', '--ignore-scripts=false'];
  await step(`fetching Node ${version}`, () =>
    npm(process.execPath, [...install, `node@${version}`], folder),
  );
  return node;
}

async function copyProject(copy) {
  await rm(copy, { recursive: true, force: true });
  await mkdir(copy, { recursive: true });
  for (const entry of await readdir(ROOT)) {
    if (NOT_COPIED.includes(entry)) continue;
    await cp(join(ROOT, entry), join(copy, entry), { recursive: true });
  }
}

/** Runs npm with this Node. */
function npm(node, npmArgs, cwd) {
  const cli = process.env.npm_execpath;
  if (!cli) throw new SetupError('Start it as: npm run test:matrix');
  return runTool('sh', ['-c', '"$0" "$@" 2>&1', node, cli, ...npmArgs], { cwd });
}

/** Reads the closing line of tools/test.mjs; a warning of Node counts as a failed test. */
async function runTests(node, cwd, testArgs, more = {}) {
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}`, ...more };
  const run = spawnGuarded(node, ['tools/test.mjs', ...testArgs], { cwd, env, output: 'pipe' });
  shutdown.add('The tests', run.stop, run.kill);
  let output = '';
  for (const stream of [run.stdout, run.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
      process.stderr.write(text);
    });
  }
  await run.exited;
  const [, passed, failed] = /^(\d+) passed, (\d+) failed$/m.exec(output) ?? [0, 0, 1];
  const warnings = output.match(WARNING) ?? [];
  return { passed: Number(passed), failed: Number(failed) + warnings.length };
}
