import { cp, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { Kafka, logLevel } from 'kafkajs';
import { artifactsFolder } from '../kafka/artifacts.mjs';
import { findJava } from '../kafka/java.mjs';
import { spawnGuarded } from '../process/guarded.mjs';
import { npm } from '../setup/dependencies.mjs';
import { LOCAL, ROOT, runTool } from '../setup/command.mjs';
import { buildApps } from '../setup/build.mjs';
import { compile, packContracts } from './contracts-package.mjs';
import { startBridge } from './running-bridge.mjs';

const FOLDER = join(LOCAL, 'deploy/examples');
const TYPESCRIPT = join(FOLDER, 'typescript');
const TIMEOUT_MS = 90_000;
const OUTCOMES = 'machine.command-outcomes.v1';

/** Checks the package of the contracts, and runs each example as a subscriber of a sandbox and bridge. */
export async function checkExamples(check, shutdown) {
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER, { recursive: true });
  let archive;
  await check('package of the contracts (npm pack)', async () => {
    archive = await packContracts();
    return { figure: `${((await stat(archive)).size / 1e3).toFixed(0)} kB` };
  });
  await buildApps();
  const { brokers, stop } = await startBridge(shutdown);
  const commands = {
    TypeScript: async () => {
      await buildTypeScript(archive);
      return [process.execPath, join(TYPESCRIPT, 'subscriber.js')];
    },
    Python: async () => [await installPython(), join(ROOT, 'examples/python/subscriber.py')],
    Java: async () => [
      await findJava(),
      '-cp',
      join(await artifactsFolder(), '*'),
      join(ROOT, 'examples/java/Subscriber.java'),
    ],
  };
  for (const [name, command] of Object.entries(commands)) {
    await check(`example subscriber in ${name}`, async () =>
      checkSubscriber(await command(), brokers, name),
    );
  }
  await check('example producer in TypeScript', () => checkProducer(brokers));
  await stop();
}

/** Builds in a separate folder, from which nothing of the project can be imported. */
async function buildTypeScript(archive) {
  await mkdir(TYPESCRIPT, { recursive: true });
  await writeFile(join(TYPESCRIPT, 'package.json'), '{ "type": "module", "private": true }');
  const [command, ...args] = npm();
  const install = ['install', '--no-audit', '--no-fund', archive, 'kafkajs@2.2.4'];
  await runTool(command, [...args, ...install], { cwd: TYPESCRIPT });
  for (const name of ['subscriber.ts', 'producer.ts']) {
    await cp(join(ROOT, 'examples/typescript', name), join(TYPESCRIPT, name));
    await compile(join(TYPESCRIPT, name), '--skipLibCheck');
  }
}

async function installPython() {
  const venv = join(FOLDER, 'python');
  await runTool('python3', ['-m', 'venv', venv]);
  await runTool(join(venv, 'bin/pip'), ['install', '-q', 'confluent-kafka==2.11.1']);
  return join(venv, 'bin/python');
}

/**
 * Checks that a subscriber omits aborted records, shows a duplicate once and the bridge's records, and shows none again
 * after a restart.
 */
async function checkSubscriber(command, brokers, name) {
  const ids = await publish(brokers, name);
  const events = await eventsUntil(command, brokers, (has) => {
    const types = ['work-order-list.applied.v1', 'work-order-list.rejected.v1'];
    return (
      has(({ id }) => id === ids.last) &&
      has(({ type }) => type === 'machine.state.changed.v1') &&
      has(({ type }) => types.includes(type))
    );
  });
  const shown = (wanted) => events.filter(({ id }) => id === wanted).length;
  if (shown(ids.twice) !== 1) throw new Error(`a duplicate is shown ${shown(ids.twice)} times`);
  if (shown(ids.aborted) !== 0) throw new Error('an aborted record is shown');
  const next = await publish(brokers, `${name}-restarted`);
  const since = await eventsUntil(command, brokers, (has) => has(({ id }) => id === next.last));
  const before = new Set(events.map(({ id }) => id));
  const again = since.filter(({ id }) => before.has(id)).length;
  if (again > 0) throw new Error(`${again} events are shown again after a stop and a start`);
}

/** Checks that the subscriber shows the outcome of the producer's list. */
async function checkProducer(brokers) {
  const env = { ...process.env, KAFKA_BROKERS: brokers };
  const producer = [join(TYPESCRIPT, 'producer.js'), 'M-002', '4711', '4712'];
  const { messageId } = JSON.parse(await runTool(process.execPath, producer, { env }));
  const subscriber = [process.execPath, join(TYPESCRIPT, 'subscriber.js')];
  await eventsUntil(subscriber, brokers, (has) =>
    has((event) => event.type === 'work-order-list.applied.v1' && event.messageId === messageId),
  );
}

/** Runs a subscriber until its output is enough. */
async function eventsUntil([command, ...args], brokers, isEnough) {
  const env = { ...process.env, KAFKA_BROKERS: brokers };
  const subscriber = spawnGuarded(command, args, { env, output: 'pipe' });
  let errors = '';
  subscriber.stderr.on('data', (text) => (errors += text));
  const events = [];
  createInterface({ input: subscriber.stdout }).on('line', (line) => events.push(JSON.parse(line)));
  try {
    const deadline = Date.now() + TIMEOUT_MS;
    while (!isEnough((isMeant) => events.some(isMeant))) {
      const ended = await Promise.race([subscriber.exited, delay(100)]);
      if (ended || Date.now() > deadline) {
        throw new Error(`${events.length} events, not all that it should show\n${errors}`);
      }
    }
    return events;
  } finally {
    await subscriber.stop();
  }
}

async function publish(brokers, name) {
  const kafka = new Kafka({ brokers: [brokers], logLevel: logLevel.NOTHING });
  const producer = kafka.producer({
    transactionalId: `example-${name}`,
    maxInFlightRequests: 1,
    idempotent: true,
  });
  await producer.connect();
  const ids = { twice: `twice-${name}`, aborted: `aborted-${name}`, last: `last-${name}` };
  const source = { topic: 'erp.work-order-lists.v1', partition: 0, offset: '0', messageId: null };
  const record = (id) => ({
    key: 'M-001',
    value: JSON.stringify({ machineId: 'M-001', source, code: null, detail: null, attempts: 1 }),
    headers: { ce_id: id, ce_type: 'work-order-list.deferred.v1' },
    partition: 0,
  });
  const send = async (end, ...records) => {
    const transaction = await producer.transaction();
    await transaction.send({ topic: OUTCOMES, messages: records });
    await transaction[end]();
  };
  try {
    const list = JSON.stringify({ machineId: 'M-001', workingOrders: [`order-${name}`] });
    await producer.send({ topic: source.topic, messages: [{ key: 'M-001', value: list }] });
    await send('commit', record(ids.twice), record(ids.twice));
    await send('abort', record(ids.aborted));
    await send('commit', record(ids.last));
  } finally {
    await producer.disconnect();
  }
  return ids;
}
