import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { startLocalKafka } from '../kafka/local-kafka.mjs';
import { anyFreePort } from '../process/ports.mjs';
import { LOCAL, ROOT } from '../setup/command.mjs';
import { portSettings, portsOfApps, urlsOf } from '../start/app-ports.mjs';
import { checkCompose } from './check-compose.mjs';
import { findDockerEngine } from './docker-engine.mjs';
import { findNodeImage } from './node-image.mjs';
import { sendList } from './running-bridge.mjs';

const APPS = ['bridge', 'terminal', 'ingest', 'sandbox'];
const MAX_IMAGE_BYTES = 200e6;
const HEALTHY_TIMEOUT_MS = 90_000;
const APPLIED_TIMEOUT_MS = 60_000;
const STOP_SECONDS = 20;
/** Lists the packages in node_modules, with the image's Node. */
const LIST_PACKAGES = `
const { existsSync, readdirSync, readFileSync } = require('node:fs');
const packagesOf = (folder) =>
  readdirSync(folder).flatMap((name) => {
    const path = folder + '/' + name;
    if (name.startsWith('.')) return [];
    if (name.startsWith('@')) return packagesOf(path);
    const { name: own, version } = JSON.parse(readFileSync(path + '/package.json'));
    const nested = path + '/node_modules';
    return [own + '@' + version, ...(existsSync(nested) ? packagesOf(nested) : [])];
  });
const { bomFormat, components } = JSON.parse(readFileSync('sbom.cdx.json'));
const listed = components.map(({ purl }) => decodeURIComponent(purl.replace('pkg:npm/', '')));
console.log(JSON.stringify({ bomFormat, listed, found: packagesOf('node_modules') }));`;

/** Delays the first file of the app by three seconds. */
const LOAD_SLOWLY = `
import { writeSync } from 'node:fs';
import { registerHooks } from 'node:module';
registerHooks({
  resolve(name, context, next) {
    if (name.startsWith('./apps/')) {
      writeSync(1, 'loading' + String.fromCharCode(10));
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3000);
    }
    return next(name, context);
  },
});`;

/** Builds the images of the apps and runs them as containers, with a separate Kafka. */
export async function checkImages(check, shutdown) {
  const engine = await findDockerEngine(shutdown);
  const nodeImage = await findNodeImage(engine);
  for (const app of APPS) {
    await check(`image of the ${app} (docker build)`, () => buildImage(engine, app, nodeImage));
    await check(`image of the ${app}: size, user, start options`, () => checkImage(engine, app));
    await check(`image of the ${app}: SBOM`, () => checkSbom(engine, app));
    await check(`image of the ${app}: SIGTERM while it loads`, () => checkEarlyStop(engine, app));
  }
  // a writable root first, to detect files that the app writes
  for (const [root, options] of [
    ['writable root, no file written', []],
    ['--read-only root', ['--read-only']],
  ]) {
    await check(`containers (docker run): health, lists applied, SIGTERM; ${root}`, () =>
      checkContainers(engine, shutdown, options),
    );
  }
  await checkCompose(check, shutdown, engine, nodeImage);
}

function imageOf(app) {
  return `machine-bridge-test/${app}`;
}

async function buildImage({ docker }, app, nodeImage) {
  const ofNode = nodeImage ? ['--build-arg', `NODE_IMAGE=${nodeImage}`] : [];
  await docker('build', ...ofNode, '--build-arg', `APP=${app}`, '--tag', imageOf(app), ROOT);
}

async function checkImage({ docker }, app) {
  const [{ Size, Config }] = JSON.parse(await docker('image', 'inspect', imageOf(app)));
  expect(Size <= MAX_IMAGE_BYTES, `the image has ${Size} bytes, more than ${MAX_IMAGE_BYTES}`);
  expectEqual(Config.User, '1000:1000');
  expect(Config.Healthcheck?.Test?.[0] === 'CMD', 'the image has no health check');
  const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  const [, options] = /^exec node (.*) tools\/run-app\.mjs/.exec(scripts[`start:${app}`]);
  expectEqual(Config.Cmd, ['node', ...options.split(' '), 'dist/main.js']);
  return { figure: `${(Size / 1e6).toFixed(0)} MB, user ${Config.User}` };
}

async function checkSbom({ docker }, app) {
  const output = await docker('run', '--rm', imageOf(app), 'node', '-e', LIST_PACKAGES);
  const { bomFormat, listed, found } = JSON.parse(output);
  expectEqual(bomFormat, 'CycloneDX');
  expect(found.length > 50, `only ${found.length} packages are in the image`);
  expectEqual([...new Set(listed)].sort(), [...new Set(found)].sort());
  return { figure: `${new Set(listed).size} packages` };
}

/** Checks that a signal during loading ends the app, although no signal ends process 1 by default. */
async function checkEarlyStop({ docker }, app) {
  const settings = ['KAFKA_BROKERS=127.0.0.1:1', 'MACHINE_CLOUD_BASE_URL=http://127.0.0.1:1'];
  const env = [...settings, 'MACHINE_CLOUD_TOKEN=a-token'].flatMap((value) => ['--env', value]);
  const command = ['node', '--import', `data:text/javascript,${LOAD_SLOWLY}`, 'dist/main.js'];
  const id = (await docker('run', '--detach', ...env, imageOf(app), ...command)).trim();
  try {
    await until(HEALTHY_TIMEOUT_MS, 'the app is being loaded', async () =>
      (await docker('logs', id)).includes('loading'),
    );
    await docker('stop', '--time', String(STOP_SECONDS), id);
    expectEqual((await docker('inspect', '--format', '{{.State.ExitCode}}', id)).trim(), '0');
  } finally {
    await docker('rm', '--force', id);
  }
}

async function checkContainers(engine, shutdown, options) {
  const dir = join(LOCAL, 'kafka', `test-${process.pid}`);
  const kafka = await startLocalKafka({ dir, removeWhenStopped: true });
  shutdown.add('Kafka', kafka.kill, kafka.kill);
  const ports = await portsOfApps(anyFreePort);
  const { sandboxUrl, bridgeUrl, ingestUrl } = urlsOf(ports);
  const settings = {
    sandbox: {},
    bridge: {
      KAFKA_BROKERS: kafka.brokers,
      MACHINE_CLOUD_BASE_URL: sandboxUrl,
      MACHINE_CLOUD_TOKEN: 'sandbox-token',
    },
    terminal: { KAFKA_BROKERS: kafka.brokers },
    ingest: { KAFKA_BROKERS: kafka.brokers },
  };
  const containers = {};
  try {
    for (const app of ['sandbox', 'bridge', 'terminal', 'ingest']) {
      const ofApp = { ...portSettings(ports), ...settings[app] };
      containers[app] = await startContainer(engine, app, options, ofApp);
    }
    for (const app of APPS) await untilHealthy(engine, app, containers[app]);
    await untilReady(`${bridgeUrl}/health/ready`);
    await checkListIsApplied(kafka.brokers, sandboxUrl);
    await checkPostIsApplied(ingestUrl, sandboxUrl);
    const command = ['node', 'dist/apps/cli/src/main.js', 'topics', 'list'];
    await engine.docker('exec', containers.bridge, ...command);
    for (const app of APPS) {
      await checkStop(engine, app, containers[app]);
    }
  } finally {
    for (const id of Object.values(containers)) await engine.docker('rm', '--force', id);
    await kafka.kill();
  }
}

/** Starts a container on the host's network, where the bridge reaches the sandbox by loopback. */
async function startContainer({ docker }, app, options, settings) {
  const env = Object.entries(settings).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
  const limits = ['--tmpfs', '/tmp', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];
  const more = ['--detach', '--network', 'host', '--health-interval', '1s', ...limits, ...options];
  return (await docker('run', ...more, ...env, imageOf(app))).trim();
}

async function untilHealthy({ docker }, app, id) {
  const deadline = Date.now() + HEALTHY_TIMEOUT_MS;
  for (;;) {
    const state = JSON.parse(await docker('inspect', '--format', '{{json .State}}', id));
    if (state.Health.Status === 'healthy') return;
    if (state.Running && Date.now() < deadline) await delay(300);
    else throw new Error(`the ${app} is not healthy:\n${await docker('logs', '--tail=20', id)}`);
  }
}

export async function untilReady(url) {
  await until(HEALTHY_TIMEOUT_MS, `200 of ${url}`, async () => (await fetch(url)).ok);
}

export async function checkListIsApplied(brokers, sandboxUrl) {
  const workingOrders = ['4711', '4712'];
  const [{ machineId }] = await (await fetch(`${sandboxUrl}/sandbox/machines`)).json();
  await sendList(brokers, { machineId, workingOrders });
  await untilListIs(sandboxUrl, machineId, workingOrders);
}

async function untilListIs(sandboxUrl, machineId, workingOrders) {
  await until(APPLIED_TIMEOUT_MS, `the list of ${machineId} in the sandbox`, async () => {
    const machine = await (await fetch(`${sandboxUrl}/sandbox/machines/${machineId}`)).json();
    return isDeepStrictEqual(machine.workingOrders, workingOrders);
  });
}

/** Checks that a list posted twice is written once, and that the bridge applies it. */
export async function checkPostIsApplied(ingestUrl, sandboxUrl, headers = {}) {
  await untilReady(`${ingestUrl}/health/ready`);
  const list = { machineId: 'M-002', workingOrders: ['4713'] };
  const post = () =>
    fetch(`${ingestUrl}/lists`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': 'list-1' },
      body: JSON.stringify(list),
    });
  expectEqual([(await post()).status, (await post()).status], [202, 200]);
  await untilListIs(sandboxUrl, list.machineId, list.workingOrders);
}

async function checkStop({ docker }, app, id) {
  await docker('stop', '--time', String(STOP_SECONDS), id);
  const state = JSON.parse(await docker('inspect', '--format', '{{json .State}}', id));
  expect(state.ExitCode === 0, `the ${app} ended with exit code ${state.ExitCode} on SIGTERM`);
  expectEqual(await docker('diff', id), '');
}

async function until(timeoutMs, what, isMet) {
  const deadline = Date.now() + timeoutMs;
  while (!(await isMet())) {
    if (Date.now() > deadline) throw new Error(`${what}: not after ${timeoutMs / 1000} s`);
    await delay(200);
  }
}

function expect(holds, message) {
  if (!holds) throw new Error(message);
}

export function expectEqual(actual, expected) {
  const [is, asked] = [actual, expected].map((value) => JSON.stringify(value));
  expect(isDeepStrictEqual(actual, expected), `expected ${asked}, is ${is}`);
}
