import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Clock, realEpochMs } from '#libs/clock';
import { STATE_EVENT_TYPES, TOPICS } from '#libs/contracts';
import { BridgeProcess } from '../support/bridge-process.js';
import { bridgeEnvironment } from '../support/chaos/bridge-environment.js';
import { eventually } from '../support/eventually.js';
import { testBrokers, TestKafka, uniqueTopicPrefix } from '../support/kafka.js';
import { type RunningSandbox, startSandbox } from '../support/running-sandbox.js';
import { header, json, type TopicReader } from '../support/topic-reader.js';

const MINUTE = 60;
const CLOCK_SPEED = 60;
const FACTORIES = ['F-1', 'F-2', 'F-3'];
const MACHINES_EACH = 20;

function writeScript(folder: string): string {
  const now = Math.floor(realEpochMs() / 1000 / MINUTE) * MINUTE;
  const periods = [{ startTime: now - 3600, endTime: now + 48 * 3600, state: 'OPERATING' }];
  const machines = FACTORIES.flatMap((factoryId) =>
    Array.from({ length: MACHINES_EACH }, (_, index) => {
      const machineId = `${factoryId}-${index}`;
      return { machineId, displayName: machineId, factoryId, periods };
    }),
  );
  const file = join(folder, 'timeline.json');
  writeFileSync(file, JSON.stringify({ machines }));
  return file;
}

describe('a factory of which no machine’s state can be had', () => {
  const folder = mkdtempSync(join(tmpdir(), 'failing-factory-'));
  const originSeconds = Math.floor(realEpochMs() / 1000);
  const clock = new Clock({ speed: CLOCK_SPEED, originSeconds });
  let sandbox: RunningSandbox;
  let gateway: Server;
  /** What the ids of machines begin with whose states cannot be had. */
  let failing: string | undefined;
  let kafka: TestKafka;
  let bridge: BridgeProcess;
  let bridgeUrl: string;
  let topics: TopicReader;

  /** Hands everything on to the sandbox, but the questions for the states of the failing factory's machines. */
  async function startGateway(): Promise<string> {
    gateway = createServer((incoming, response) => {
      const { pathname, searchParams } = new URL(incoming.url ?? '', 'http://gateway');
      const machineId = searchParams.get('machineId') ?? '';
      const isFailing = failing !== undefined && machineId.startsWith(failing);
      if (pathname.endsWith('/machineState') && isFailing) {
        response.writeHead(503).end();
        return;
      }
      const { method, headers, url } = incoming;
      const onward = request(
        `${sandbox.control.url}${url ?? ''}`,
        { method, headers },
        (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(response);
        },
      );
      onward.on('error', () => response.destroy());
      incoming.pipe(onward);
    });
    await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
  }

  const machinesOf = (type: string): string[] =>
    topics.records
      .filter((record) => header(record, 'ce_type') === type)
      .map((record) => json(record)['machineId'] as string);

  const metric = async (name: string): Promise<string[]> => {
    const text = await (await fetch(`${bridgeUrl}/metrics`)).text();
    return text.split('\n').filter((line) => line.startsWith(name));
  };

  const isReady = async (): Promise<boolean> => (await fetch(`${bridgeUrl}/health/ready`)).ok;

  beforeAll(async () => {
    const clockEnv = { CLOCK_SPEED: String(CLOCK_SPEED), CLOCK_ORIGIN: String(originSeconds) };
    sandbox = await startSandbox({ ...clockEnv, SANDBOX_TIMELINE_FILE: writeScript(folder) });
    const gatewayUrl = await startGateway();
    const [brokers, topicPrefix] = [testBrokers(), uniqueTopicPrefix()];
    kafka = new TestKafka(brokers, topicPrefix);
    bridge = new BridgeProcess({
      ...bridgeEnvironment({ brokers, topicPrefix, partitions: 3, sandboxUrl: gatewayUrl }),
      ...clockEnv,
      BRIDGE_FLOWS: 'machine-states',
    });
    bridgeUrl = await bridge.ready();
    topics = await kafka.read(TOPICS.stateChanges);
    const all = FACTORIES.length * MACHINES_EACH;
    await eventually(() => machinesOf(STATE_EVENT_TYPES.changed).length >= all, {
      what: 'the first state of every machine',
      timeoutMs: 60_000,
    });
  });

  afterAll(async () => {
    await bridge.close();
    await kafka.close();
    await sandbox.close();
    gateway.closeAllConnections();
    await new Promise((resolve) => gateway.close(resolve));
    rmSync(folder, { recursive: true, force: true });
  });

  it('is lost alone, and shown by a metric while the bridge is ready', async () => {
    failing = 'F-2';
    await clock.sleepSeconds(8 * MINUTE);
    await eventually(() => machinesOf(STATE_EVENT_TYPES.observationLost).length >= MACHINES_EACH, {
      what: 'every machine of the factory is lost',
      timeoutMs: 60_000,
    });
    const lost = machinesOf(STATE_EVENT_TYPES.observationLost);
    expect(lost.filter((machineId) => !machineId.startsWith('F-2'))).toEqual([]);
    expect(await metric('machine_bridge_failing_machines')).toEqual(
      expect.arrayContaining([
        'machine_bridge_failing_machines{factory="F-1"} 0',
        'machine_bridge_failing_machines{factory="F-2"} 20',
        'machine_bridge_failing_machines{factory="F-3"} 0',
      ]),
    );
    expect(await metric('machine_bridge_polls_paused')).toEqual(['machine_bridge_polls_paused 0']);
    expect(await isReady()).toBe(true);
  });

  it('is back as soon as it answers again, and nobody was lost twice', async () => {
    failing = undefined;
    await eventually(
      () => machinesOf(STATE_EVENT_TYPES.observationRestored).length >= MACHINES_EACH,
      { what: 'every machine of the factory is back', timeoutMs: 60_000 },
    );
    const lost = machinesOf(STATE_EVENT_TYPES.observationLost);
    expect(new Set(lost).size).toBe(lost.length);
    expect(lost).toHaveLength(MACHINES_EACH);
  });

  it('makes the bridge say that it is paused when it is every factory', async () => {
    failing = 'F-';
    await eventually(async () => !(await isReady()), {
      what: 'the bridge says that no machine is observed',
      timeoutMs: 60_000,
    });
    await eventually(
      async () =>
        (await metric('machine_bridge_polls_paused')).includes('machine_bridge_polls_paused 1'),
      { what: 'polls pause', timeoutMs: 60_000 },
    );
    failing = undefined;
    await eventually(isReady, { what: 'the bridge is ready again', timeoutMs: 60_000 });
    expect(await metric('machine_bridge_polls_paused')).toEqual(['machine_bridge_polls_paused 0']);
  });
});
