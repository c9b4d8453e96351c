import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { anyFreePort } from '../process/ports.mjs';
import { ROOT, SetupError } from '../setup/command.mjs';
import { startCommand, startProgram, untilHealthy } from '../start/app-process.mjs';
import { NODE_OPTIONS } from '../start/node-options.mjs';
import { countRecords } from './kafka/topics.mjs';
import { prepareParallelConsumer } from './rivals/prepare.mjs';
import { pollsFrom } from './states/poll-log.mjs';

const STUB = fileURLToPath(new URL('./service-stub/main.mjs', import.meta.url));
// settings in the user's environment would change the measurement
const SETTINGS_OF_A_BRIDGE =
  /^(KAFKA|MACHINE_CLOUD|BRIDGE|CLOCK|POLL|OTEL|TERMINAL|INGEST|STALE|SETTLE|DIRECTORY|BACKFILL)_/;
const STALLED_AFTER_MS = 60_000;

/**
 * Starts the bridge on a trial's topics, as it is delivered; `settings` override the bench's own. Several bridges of a
 * group need a `name` each, after which the log is called.
 */
export function startBridge(
  trial,
  { group = 'bridge', name = group, service = trial.service, settings },
) {
  return startBuilt(trial, 'bridge', trial.prefix, {
    name,
    KAFKA_GROUP_ID: `${trial.prefix}${group}`,
    MACHINE_CLOUD_BASE_URL: service.url,
    MACHINE_CLOUD_TOKEN: 'bench-token',
    BRIDGE_FLOWS: 'work-orders,downtime-reasons',
    // done means an outcome: on a slow machine, `deferred` outcomes would be counted too
    OUTCOME_DEFERRED_AFTER_SECONDS: '3600',
    ...settings,
  });
}

/** Starts the terminal on the topics with a prefix, as it is delivered. */
export function startTerminal(bench, prefix) {
  return startBuilt(bench, 'terminal', prefix, { KAFKA_GROUP_ID: `${prefix}terminal` });
}

/** Starts ingest on the topics with a prefix, as it is delivered. */
export function startIngest(bench, prefix) {
  return startBuilt(bench, 'ingest', prefix, { KAFKA_GROUP_ID: `${prefix}bridge` });
}

async function startBuilt(bench, app, prefix, { name = app, ...settings }) {
  const port = await anyFreePort();
  const main = join(ROOT, `dist/apps/${app}/src/main.js`);
  const started = start(bench, `bench-${name}`, [...(NODE_OPTIONS[app] ?? []), main], {
    KAFKA_BROKERS: bench.brokers,
    KAFKA_TOPIC_PREFIX: prefix,
    [`${app.toUpperCase()}_HTTP_PORT`]: String(port),
    LOG_LEVEL: 'warn',
    ...settings,
  });
  return { ...started, url: `http://127.0.0.1:${port}` };
}

/** Keeps a process on one core; false if that is not possible: `taskset` is a program of Linux. */
export async function keepOnOneCore({ pid }) {
  return keepOnCores('0', await pid);
}

/** Keeps processes off the core of {@link keepOnOneCore} while `body` runs, as if they were on other computers. */
export async function withoutThatCore(pids, body) {
  const last = availableParallelism() - 1;
  if (last < 1) return body();
  const known = pids.filter((pid) => pid !== undefined);
  try {
    for (const pid of known) await keepOnCores(`1-${last}`, pid);
    return await body();
  } finally {
    for (const pid of known) await keepOnCores(`0-${last}`, pid);
  }
}

function keepOnCores(cores, pid) {
  const options = ['--all-tasks', '--cpu-list', '--pid', cores, String(pid)];
  return promisify(execFile)('taskset', options).then(
    () => true,
    () => false,
  );
}

/** Starts the service's stub; service-stub/stub-service.mjs has the fields of `conduct`. */
export async function startService(bench, { machines, latencyMs, updateSeconds = 60 }) {
  const port = await anyFreePort();
  const args = [STUB, port, machines, latencyMs, updateSeconds].map(String);
  const app = start(bench, 'bench-service', args, {});
  const url = `http://127.0.0.1:${port}`;
  await untilHealthy(app, `${url}/stub/report`);
  const request = (path, init) => fetch(`${url}/stub/${path}`, init);
  const ask = async (path, init) => (await request(path, init)).json();
  const post = (path, value) => ask(path, { method: 'POST', body: JSON.stringify(value) });
  return {
    ...{ url, stop: app.stop, ended: app.ended },
    report: () => ask('report'),
    lasts: () => ask('lasts'),
    answers: () => ask('answers'),
    polls: async () => pollsFrom(await (await request('polls')).arrayBuffer()),
    conduct: (change) => post('conduct', change),
    change: (which) => post('change', which),
  };
}

/**
 * Starts Confluent's Parallel Consumer on a trial's input; `program` has the other arguments of
 * rivals/ParallelConsumer.java.
 */
export async function startParallelConsumer(
  { brokers, input, prefix, service, ...bench },
  program,
) {
  const { java, classPath } = await prepareParallelConsumer();
  const port = await anyFreePort();
  const options = { brokers, input, groupId: `${prefix}rival`, serviceUrl: service.url, port };
  const jvm = ['-Dorg.slf4j.simpleLogger.defaultLogLevel=warn', '-cp', classPath];
  const args = [...jvm, 'ParallelConsumer', JSON.stringify({ ...options, ...program })];
  const app = startedIn(bench, () => startCommand('bench-rival', [java, ...args], process.env));
  return { ...app, url: `http://127.0.0.1:${port}` };
}

function start(bench, name, args, settings) {
  const kept = Object.entries(process.env).filter(([key]) => !SETTINGS_OF_A_BRIDGE.test(key));
  const env = { ...Object.fromEntries(kept), ...settings };
  return startedIn(bench, () => startProgram(name, args, env));
}

function startedIn({ shutdown }, startApp) {
  // nothing would end a program that starts after the shutdown has begun
  shutdown.signal.throwIfAborted();
  const app = startApp();
  shutdown.add(app.name, app.stop, app.kill);
  return app;
}

/**
 * Waits until `count()` is `expected`, asking every `pollMs` milliseconds.
 *
 * @throws SetupError when the app ends, or nothing is added for a minute
 */
export async function untilCount(app, count, expected, pollMs = 50) {
  let progress = { done: -1, atMs: 0 };
  for (;;) {
    const done = await count();
    if (done >= expected) return;
    if (done !== progress.done) progress = { done, atMs: performance.now() };
    const end = await Promise.race([app.ended, delay(pollMs)]);
    if (end !== undefined) throw new SetupError(end);
    if (performance.now() - progress.atMs > STALLED_AFTER_MS)
      throw new SetupError(`stalled: ${done} of ${expected}; see ${app.log}`);
  }
}

/** The number of outcomes of any kind, by offsets, which costs the broker next to nothing. */
export function outcomeCount({ admin, outcomes }) {
  return () => countRecords(admin, outcomes);
}

/** Waits until no outcome has come for half a second. */
export async function untilQuiet(trial) {
  for (let before = -1; ; await delay(500)) {
    const now = await outcomeCount(trial)();
    if (now === before) return;
    before = now;
  }
}
