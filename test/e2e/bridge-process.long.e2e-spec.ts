import { once } from 'node:events';
import { connect } from 'node:net';
import type { Environment } from '#libs/config';
import { TOPICS } from '#libs/contracts';
import { AppProcess } from '../support/app-process.js';
import { bridgeEnvironment } from '../support/bridge-environment.js';
import { eventually } from '../support/eventually.js';
import { testBrokers, TestKafka, uniqueTopicPrefix } from '../support/kafka.js';
import { type RunningSandbox, startSandbox } from '../support/running-sandbox.js';
import { ServiceRelay } from '../support/service-relay.js';

/** Makes a Node process send itself a signal before it loads a module. */
function signalOnLoading(module: string, signal: NodeJS.Signals): Environment {
  const asModule = (code: string): string =>
    `data:text/javascript,${encodeURIComponent(code).replaceAll("'", '%27')}`;
  const hook = asModule(`export function resolve(specifier, context, next) {
    if (specifier === '${module}') process.kill(process.pid, '${signal}');
    return next(specifier, context);
  }`);
  const register = asModule(`import { register } from 'node:module'; register('${hook}');`);
  return { NODE_OPTIONS: `--import=${register}` };
}

describe('the bridge as a process', () => {
  const topicPrefix = uniqueTopicPrefix();
  const kafka = new TestKafka(testBrokers(), topicPrefix);
  const groupId = `${topicPrefix}bridge`;
  let sandbox: RunningSandbox;
  let running: AppProcess | undefined;
  let relay: ServiceRelay | undefined;

  beforeAll(async () => {
    sandbox = await startSandbox();
  });

  afterEach(async () => {
    await running?.close();
    await relay?.close();
    relay = undefined;
    await sandbox.control.clearFaults();
  });

  afterAll(async () => {
    await kafka.close();
    await sandbox.close();
  });

  const start = (env: Environment = {}): AppProcess => {
    const common = bridgeEnvironment({ topicPrefix, sandboxUrl: sandbox.control.url });
    return (running = new AppProcess('bridge', { ...common, ...env }));
  };

  /** The service logs a call on arrival, so that a logged call is under way or answered. */
  const untilCalledFor = async (machineId: string): Promise<void> => {
    const isLogged = async () =>
      (await sandbox.control.calls('setWorkOrderList')).some(({ machineIds }) =>
        machineIds.includes(machineId),
      );
    await eventually(`the list of ${machineId} is sent`, isLogged);
  };

  it('names every wrong setting at once without its value, and exits 78', async () => {
    const bridge = start({
      KAFKA_BROKERS: '',
      MACHINE_CLOUD_BASE_URL: 'http://cloud.example.com',
      MACHINE_CLOUD_TOKEN: 'secret-token',
      MACHINE_CLOUD_TOKEN_FILE: '/no/such/file',
      POLL_INTERVAL_SECONDS: 'often',
      BRIDGE_HTTP_HOST: '0.0.0.0',
      KAFKA_SASL_PASSWORD: 'secret-password',
      KAFKA_SSL_CERT_FILE: 'package.json',
      MACHINE_CLOUD_MACHINE_INFO_PATH: '../secret-path',
      CLOCK_ORIGIN: '1763680000000',
    });
    expect(await bridge.exitCode()).toBe(78);
    for (const name of [
      'KAFKA_BROKERS',
      'MACHINE_CLOUD_BASE_URL',
      'MACHINE_CLOUD_TOKEN',
      'POLL_INTERVAL_SECONDS',
      'BRIDGE_API_TOKEN',
      'KAFKA_SASL_MECHANISM',
      'KAFKA_SSL_CERT_FILE',
      'KAFKA_SSL_KEY_FILE',
      'MACHINE_CLOUD_MACHINE_INFO_PATH',
      'CLOCK_ORIGIN',
    ]) {
      expect(bridge.output).toContain(name);
    }
    expect(bridge.output).not.toContain('secret-');
    expect(bridge.output).not.toContain('often');
  });

  it('exits 78 when the equipment map is invalid', async () => {
    const bridge = start({ EQUIPMENT_MAP_FILE: 'package.json', POLL_INTERVAL_SECONDS: 'often' });
    expect(await bridge.exitCode()).toBe(78);
    expect(bridge.output).toContain('EQUIPMENT_MAP_FILE is no equipment map');
    expect(bridge.output).toContain('POLL_INTERVAL_SECONDS');
  });

  it.each([
    [
      'BRIDGE_HTTP_PORT to another port',
      (port: string) => ({ BRIDGE_HTTP_HOST: '127.0.0.1', BRIDGE_HTTP_PORT: port }),
    ],
    [
      'BRIDGE_HTTP_HOST to an address of this host',
      () => ({ BRIDGE_HTTP_HOST: '192.0.2.1', BRIDGE_API_TOKEN: 'a-token' }),
    ],
  ])('asks to set %s when it cannot listen, and exits', async (what, env) => {
    const bridge = start(env(new URL(sandbox.control.url).port));
    expect(await bridge.exitCode()).toBe(1);
    expect(bridge.output).toMatch(
      new RegExp(`^The bridge cannot start: listen .*: set ${what}$`, 'm'),
    );
  });

  it('names the missing topics and exits when it may not create them', async () => {
    const prefix = uniqueTopicPrefix();
    const bridge = start({ KAFKA_TOPIC_PREFIX: prefix, KAFKA_CREATE_TOPICS: 'false' });
    expect(await bridge.exitCode()).toBe(1);
    expect(bridge.output).toContain(`${prefix}${TOPICS.workOrderLists}`);
  });

  it('needs no topic of a disabled flow', async () => {
    const bridge = start({
      KAFKA_TOPIC_PREFIX: uniqueTopicPrefix(),
      KAFKA_CREATE_TOPICS: 'false',
      BRIDGE_FLOWS: 'downtime-reasons',
    });
    expect(await bridge.exitCode()).toBe(1);
    expect(bridge.output).toContain(TOPICS.downtimeReasons);
    expect(bridge.output).not.toContain(TOPICS.workOrders);
    expect(bridge.output).not.toContain(TOPICS.states);
  });

  it('finishes the call in flight on SIGTERM, commits, and exits 0', async () => {
    relay = await ServiceRelay.start();
    relay.serviceUrl = sandbox.control.url;
    const bridge = start({
      MACHINE_CLOUD_BASE_URL: relay.url,
      MACHINE_CLOUD_TIMEOUT_MS: '60000',
    });
    await bridge.ready();
    relay.holdAnswers();
    await kafka.sendList('M-001', ['in-flight']);
    await untilCalledFor('M-001');
    bridge.kill('SIGTERM');
    await eventually('the bridge is stopping', () => bridge.output.includes('stopping'));
    relay.release();
    expect(await bridge.exitCode()).toBe(0);
    await sandbox.control.listBecomes('M-001', ['in-flight']);
    expect(await kafka.groups.committed(groupId, TOPICS.workOrderLists)).toBe(1);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('exits 0 on a %s before it is loaded', async (signal) => {
    const bridge = start(signalOnLoading('./run-bridge.js', signal));
    expect(await bridge.exitCode()).toBe(0);
    expect(bridge.output).toBe('');
  });

  it('waits ten seconds for a hanging call, then stops in order and leaves it to the next process', async () => {
    const bridge = start({ MACHINE_CLOUD_TIMEOUT_MS: '60000' });
    await bridge.ready();
    await sandbox.control.addFault({ operation: 'setWorkOrderList', hang: true });
    await kafka.sendList('M-005', ['hanging']);
    await untilCalledFor('M-005');
    const committed = await kafka.groups.committed(groupId, TOPICS.workOrderLists);
    bridge.kill('SIGTERM');
    expect(await bridge.exitCode()).toBe(0);
    expect(bridge.output).toContain('calls cut off');
    expect(bridge.output).not.toContain('cut short');
    expect(await kafka.groups.committed(groupId, TOPICS.workOrderLists)).toBe(committed);
    await sandbox.control.clearFaults();
    await start().ready();
    await sandbox.control.listBecomes('M-005', ['hanging']);
  });

  it('stops in order although a client never finishes its request', async () => {
    const bridge = start();
    const { port } = new URL(await bridge.ready());
    const client = connect(Number(port), '127.0.0.1');
    client.on('error', () => undefined);
    await once(client, 'connect');
    client.write('GET /health');
    bridge.kill('SIGTERM');
    expect(await bridge.exitCode()).toBe(0);
    expect(bridge.output).not.toContain('cut short');
    client.destroy();
  });

  it('is unready from the first signal on, and exits at once on a second one', async () => {
    const bridge = start();
    const url = await bridge.ready();
    await sandbox.control.addFault({ operation: 'setWorkOrderList', latencyMs: 8000 });
    await kafka.sendList('M-002', ['slow']);
    await untilCalledFor('M-002');
    bridge.kill('SIGTERM');
    await eventually('the bridge is stopping', () => bridge.output.includes('stopping'));
    await eventually(
      'it is not ready although its call is under way',
      async () => (await fetch(`${url}/health/ready`)).status === 503,
    );
    expect(bridge.output).not.toContain('calls cut off');
    bridge.kill('SIGTERM');
    expect(await bridge.exitCode()).toBe(1);
  });

  it('redelivers unfinished messages after kill -9', async () => {
    const first = start();
    await first.ready();
    await sandbox.control.addFault({ operation: 'setWorkOrderList', status: 503 });
    await kafka.sendList('M-003', ['survivor']);
    await untilCalledFor('M-003');
    first.kill('SIGKILL');
    await first.exitCode();
    await sandbox.control.clearFaults();
    await start().ready();
    await sandbox.control.listBecomes('M-003', ['survivor']);
  });

  it('waits for an absent Kafka, live and not ready', async () => {
    const bridge = start({ KAFKA_BROKERS: '127.0.0.1:1' });
    const url = await bridge.url();
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    const ready = await fetch(`${url}/health/ready`);
    expect(ready.status).toBe(503);
    expect(await ready.text()).toContain('kafka');
    bridge.kill('SIGTERM');
    expect(await bridge.exitCode()).toBe(0);
  });

  it('reports no flow as running before it knows the flows that are paused by hand', async () => {
    const bridge = start({ KAFKA_BROKERS: '127.0.0.1:1', BRIDGE_FLOWS: 'work-orders' });
    const response = await fetch(`${await bridge.url()}/api/flows`);
    const why = expect.stringContaining(
      'until it is read which flows are paused by hand',
    ) as string;
    expect(await response.json()).toMatchObject([{ name: 'work-orders', state: 'paused', why }]);
  });

  it('says at start that it exports nothing to a collector whose address contains a login', async () => {
    const bridge = start({
      KAFKA_BROKERS: '127.0.0.1:1',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://me:hunter2@collector:4318',
    });
    await bridge.url();
    await bridge.untilOutputMatches(
      /"msg":"(a setting has no effect)".*OTEL_EXPORTER_OTLP_ENDPOINT/,
      'it says so',
    );
    expect(bridge.output).not.toContain('hunter2');
  });

  it('requires its API token when one is set', async () => {
    const bridge = start({ BRIDGE_API_TOKEN: 'api-secret' });
    const url = await bridge.ready();
    const authorised = { headers: { authorization: 'bearer api-secret' } };
    for (const path of ['/metrics', '/api/machines']) {
      const refused = await fetch(`${url}${path}`);
      expect(refused.status).toBe(401);
      expect(refused.headers.get('www-authenticate')).toBe('Bearer');
      expect((await fetch(`${url}${path}`, authorised)).status).toBe(200);
    }
    expect(bridge.output).not.toContain('api-secret');
  });
});
