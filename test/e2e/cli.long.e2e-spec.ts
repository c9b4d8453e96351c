import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { type Environment, loadBridgeSettings, loadKafkaSettings } from '#libs/config';
import { TOPICS } from '#libs/contracts';
import { createKafka, topicNames } from '#libs/kafka';
import { createBridge } from '../../apps/bridge/src/index.js';
import { bridgeEnvironment } from '../support/bridge-environment.js';
import { ErpServer } from '../support/erp-server.js';
import { eventually } from '../support/eventually.js';
import { testBrokers, TestKafka, uniqueTopicPrefix } from '../support/kafka.js';
import { type Plant, startPlant } from '../support/plant.js';
import {
  type CommandResult,
  jsonLines,
  runCommand,
  RunningCommand,
} from '../support/run-command.js';
import { temporaryFile } from '../../libs/config/test/temporary-files.js';
import type { TopicReader } from '../support/topic-reader.js';

const run = promisify(execFile);
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** Listens until the end of the test. */
async function serve(answer: RequestListener): Promise<{ port: string; close: () => void }> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { port: String(port), close: () => server.close() };
}

const containing = (text: string) => expect.stringContaining(text) as string;

interface Finding {
  kind: 'setting' | 'check';
  check: string;
  name: string;
  value: string | null;
  source: string;
  status: string;
  detail: string;
  remedy: string | null;
}

describe('machine-bridge, beside a running bridge', () => {
  let plant: Plant;
  let outcomes: TopicReader;

  beforeAll(async () => {
    const tokens = temporaryFile('tokens.json', { reader: ['machine-info', 'machine-state'] });
    plant = await startPlant({ sandboxEnv: { SANDBOX_TOKENS_FILE: tokens } });
    outcomes = await plant.kafka.read(TOPICS.commandOutcomes);
  });

  afterAll(() => plant.close());

  const settings = (): Environment => ({
    KAFKA_GROUP_ID: plant.groupId,
    KAFKA_TOPIC_PARTITIONS: '3',
    MACHINE_CLOUD_BASE_URL: plant.sandbox.url,
    MACHINE_CLOUD_TOKEN: 'sandbox-token',
    BRIDGE_HTTP_PORT: new URL(plant.bridgeUrl).port,
    ...plant.clockEnv,
  });

  const bridgeCommand = (args: string[], env: Environment = {}): Promise<CommandResult> =>
    runCommand(args, {
      topicPrefix: plant.kafka.topicPrefix,
      env: { ...settings(), ...env },
    });

  const failed = (result: CommandResult): string[] =>
    jsonLines<Finding>(result).flatMap(({ status, check, detail }) =>
      status === 'fail' ? [`${check}: ${detail}`] : [],
    );

  it('accepts working settings, and shows each with its source', async () => {
    const result = await bridgeCommand(['config', 'check', '--json'], { EMPTY: '' });
    expect({ failed: failed(result), stderr: result.stderr }).toEqual({ failed: [], stderr: '' });
    expect(result.exitCode).toBe(0);
    const found = jsonLines<Finding>(result);
    const setting = (wanted: string) => found.find(({ name }) => name === wanted);
    expect(setting('MACHINE_CLOUD_TOKEN')).toMatchObject({
      value: '********',
      source: 'environment',
    });
    expect(setting('KAFKA_CLIENT_ID')).toMatchObject({
      value: 'machine-bridge',
      source: 'default',
    });
    expect(setting('POLL_INTERVAL_SECONDS')).toMatchObject({ value: '60', source: 'default' });
    expect(setting('KAFKA_SASL_PASSWORD_FILE') ?? setting('KAFKA_SASL_PASSWORD')).toMatchObject({
      value: null,
    });
    const checked = found.filter(({ kind }) => kind === 'check').map(({ check }) => check);
    for (const operation of ['getMachineState', 'setMachineClassification', 'setWorkOrderList']) {
      expect(checked).toContain(`service ${operation}`);
    }
    expect(checked).toContain('transactional ids');
    const ofTopics = found.filter(
      ({ kind, check }) => kind === 'check' && check.startsWith('topic '),
    );
    // the bridge created them as planned
    expect(ofTopics.filter(({ status }) => status !== 'ok')).toEqual([]);
    const kept = found.find(
      ({ kind, check }) => kind === 'check' && check.endsWith('machine-bridge.relayed-orders.v1'),
    );
    expect(kept?.detail).toMatch(/cleanup\.policy=compact,delete, .*retention\.ms=-1/);
  });

  /** Checks with another configuration of a topic, which then has the former value again. */
  const checkedWith = async (topic: string, name: string, value: string, former: string) => {
    await plant.kafka.topics.configure(topic, { [name]: value });
    const result = await bridgeCommand(['config', 'check', '--json']);
    await plant.kafka.topics.configure(topic, { [name]: former });
    return result;
  };

  it.each<[string, Parameters<typeof checkedWith>, unknown[]]>([
    [
      'names a topic whose cleanup policy loses data',
      [TOPICS.registry, 'cleanup.policy', 'delete', 'compact'],
      [expect.stringMatching(/machine\.registry\.v1: cleanup\.policy is delete with/)],
    ],
    [
      'reports no topic as unwritable because it has too few replicas in sync',
      [TOPICS.stateChanges, 'min.insync.replicas', '2', '1'],
      [],
    ],
  ])('%s', async (_, configuration, faults) => {
    const result = await checkedWith(...configuration);
    expect({ failed: failed(result), exitCode: result.exitCode }).toEqual({
      failed: faults,
      exitCode: faults.length > 0 ? 1 : 0,
    });
  });

  it('warns of an input whose messages are deleted within a day', async () => {
    const result = await checkedWith(TOPICS.workOrders, 'retention.ms', '3600000', '604800000');
    const warned = jsonLines<Finding>(result).filter(({ status }) => status === 'warn');
    expect(warned.filter(({ detail }) => detail.includes('retention'))).toEqual([
      expect.objectContaining({
        check: containing(TOPICS.workOrders),
        detail: containing('retention.ms is 3600000'),
        remedy: containing('longer than an outage may last'),
      }),
    ]);
  });

  it('reads settings from a file, which the environment overrides', async () => {
    const text = '\uFEFFSTALE_AFTER_SECONDS=900\r\nKAFKA_GROUP_ID=other\r\n';
    const file = temporaryFile('.env', text);
    const result = await bridgeCommand(['config', 'check', '--json', '--settings-file', file]);
    const found = jsonLines<Finding>(result);
    expect(found.find(({ name }) => name === 'STALE_AFTER_SECONDS')).toMatchObject({
      value: '900',
      source: 'file',
    });
    expect(found.find(({ name }) => name === 'KAFKA_GROUP_ID')).toMatchObject({
      value: plant.groupId,
      source: 'environment',
    });
    const none = await bridgeCommand(['config', 'check', '--settings-file', `${file}.none`]);
    expect(none).toMatchObject({ exitCode: 78, stdout: '' });
  });

  it('shows the answer of an unknown server without its control characters', async () => {
    const message = '\u001b]0;mine\u0007\rno\u202ethanks';
    const { port } = await serve((_, response) => {
      response.writeHead(400).end(JSON.stringify({ message }));
    });
    const { exitCode, stderr } = await bridgeCommand(['flows'], { BRIDGE_HTTP_PORT: port });
    expect(exitCode).toBe(1);
    expect(stderr).toContain(String.raw`400: \u001b]0;mine\u0007\u000dno\u202ethanks`);
  });

  it('plans exactly the topics that the bridge created', async () => {
    const listed = jsonLines<{ name: string; partitions: number; plannedPolicy: string }>(
      await bridgeCommand(['topics', 'list', '--json']),
    );
    const kafka = createKafka(loadKafkaSettings({ KAFKA_BROKERS: testBrokers().join(',') }));
    const real = (await topicNames(kafka)).filter((name) =>
      name.startsWith(plant.kafka.topicPrefix),
    );
    expect(listed.map(({ name }) => name).sort()).toEqual(real.sort());
    expect(new Set(listed.map(({ partitions }) => partitions))).toEqual(new Set([3]));
    for (const topic of listed) {
      expect(topic).toMatchObject({ config: { 'cleanup.policy': topic.plannedPolicy } });
    }
  });

  it('names the missing scopes of a token, and reports a refused token', async () => {
    const lacking = await bridgeCommand(['config', 'check', '--json'], {
      MACHINE_CLOUD_TOKEN: 'reader',
    });
    expect(lacking.exitCode).toBe(1);
    expect(failed(lacking)).toEqual([
      expect.stringMatching(/^service getMachineActivityLog: .*lacks the scope.*machine-states/),
      expect.stringMatching(/^service setMachineClassification: .*downtime-reasons/),
      expect.stringMatching(/^service setWorkOrderList: .*work-orders/),
    ]);
    const refused = await bridgeCommand(['config', 'check'], { MACHINE_CLOUD_TOKEN: 'wrong-one' });
    expect(refused.exitCode).toBe(1);
    expect(refused.stdout).toMatch(
      /fail {2}service getMachineInfo +the service answers 401: the token is not accepted/,
    );
    expect(refused.stdout + refused.stderr).not.toContain('wrong-one');
    expect(refused.stdout).not.toContain('\u001b');
  });

  it('does not mistake the 404 of another address for the service', async () => {
    const elsewhere = { MACHINE_CLOUD_BASE_URL: `${plant.sandbox.url}/elsewhere` };
    const result = await bridgeCommand(['config', 'check', '--json'], elsewhere);
    expect(result.exitCode).toBe(1);
    expect(failed(result)).toEqual([
      expect.stringMatching(/^service getMachineInfo: answered with 404/),
      expect.stringMatching(/^service setMachineClassification: answered with 404/),
      expect.stringMatching(/^service setWorkOrderList: answered with 404/),
    ]);
  });

  it('checks the schema registry if there is one, and reports its faults', async () => {
    let answer = { status: 404, body: '{"error_code":40403}' };
    const types = { status: 200, body: '["JSON"]' };
    const registry = await serve(({ url, headers }, response) => {
      const isLogin = headers.authorization === `Basic ${btoa('bridge:registry-word')}`;
      const isTypes = url === '/api/schemas/types' && answer.body.includes('error_code');
      const { status, body } = isLogin ? (isTypes ? types : answer) : { status: 401, body: '' };
      response.writeHead(status).end(body);
    });
    const url = `http://127.0.0.1:${registry.port}/api`;
    const found = async (KAFKA_SCHEMA_REGISTRY_PASSWORD: string) => {
      const result = await bridgeCommand(['config', 'check', '--json'], {
        KAFKA_SCHEMA_REGISTRY_URL: url,
        KAFKA_SCHEMA_REGISTRY_USERNAME: 'bridge',
        KAFKA_SCHEMA_REGISTRY_PASSWORD,
      });
      expect(result.stdout + result.stderr).not.toContain('-word');
      const finding = jsonLines<Finding>(result).find(({ check }) => check === 'schema registry');
      return [result.exitCode, finding?.status, finding?.detail, finding?.remedy];
    };
    expect(await found('registry-word')).toEqual([0, 'ok', `answers at ${url}`, null]);
    const login = containing('KAFKA_SCHEMA_REGISTRY_PASSWORD');
    expect(await found('other-word')).toEqual([1, 'fail', `${url}: HTTP 401`, login]);
    answer = { status: 200, body: '<html>' };
    const noRegistry = containing('this is no schema registry');
    const path = containing('/apis/ccompat/v7');
    expect(await found('registry-word')).toEqual([1, 'fail', noRegistry, path]);
    registry.close();
    const refused = containing('ECONNREFUSED');
    const start = containing('start the registry');
    expect(await found('registry-word')).toEqual([69, 'fail', refused, start]);
  });

  it('checks each ERP that completes orders, and reports faults of its login', async () => {
    const erp = await ErpServer.start();
    const clientSecret = { env: 'ERP_CLIENT_SECRET' };
    const auth = { kind: 'oauth', tokenUrl: `${erp.url}/token`, clientId: 'bridge', clientSecret };
    const url = `${erp.url}/orders(company='{company}',order='{orderId}')`;
    const rule = { name: 'erp-1', when: { a: 'b' }, orderId: 'o', values: { company: 'c' }, url };
    const file = temporaryFile('enrichment.json', [{ ...rule, auth }]);
    let status = 404;
    erp.faults.set('token', (request, response) => {
      const login = `Basic ${btoa('bridge:secret-of-the-client')}`;
      const isRight = request.headers.authorization === login;
      response.writeHead(isRight ? 200 : 401, { 'content-type': 'application/json' });
      const token = { access_token: 'token-of-the-client', token_type: 'Bearer', expires_in: 300 };
      response.end(JSON.stringify(isRight ? token : { error: 'invalid_client' }));
    });
    erp.faults.set('*', (request, response) => {
      const isRight = request.headers.authorization === 'Bearer token-of-the-client';
      response.writeHead(isRight ? status : 401).end();
    });
    const found = async (secret: string) => {
      const env = { ERP_ENRICHMENT_FILE: file, ERP_CLIENT_SECRET: secret };
      const result = await bridgeCommand(['config', 'check', '--json'], env);
      expect(result.stdout + result.stderr).not.toMatch(/-of-the-client/);
      const finding = jsonLines<Finding>(result).find(({ check }) => check === 'erp erp-1');
      return [result.exitCode, finding?.status, finding?.detail, finding?.remedy];
    };
    try {
      expect(await found('secret-of-the-client')).toEqual([0, 'ok', containing('404'), null]);
      const login = containing('correct auth of rule erp-1');
      expect(await found('other-of-the-client')).toEqual([1, 'fail', containing('401'), login]);
      status = 403;
      const grant = containing('grant the login of rule erp-1');
      expect(await found('secret-of-the-client')).toEqual([1, 'fail', containing('403'), grant]);
    } finally {
      await erp.close();
    }
    const [exitCode, ...finding] = await found('secret-of-the-client');
    expect([exitCode, finding[0]]).toEqual([69, 'fail']);
  });

  it('distinguishes unreachable servers from wrong input', async () => {
    const noKafka = { ...settings(), KAFKA_BROKERS: '127.0.0.1:1' };
    expect((await bridgeCommand(['config', 'check'], noKafka)).exitCode).toBe(69);
    expect(await bridgeCommand(['topics', 'list'], noKafka)).toMatchObject({
      exitCode: 69,
      stdout: '',
      stderr: containing('Kafka cannot be reached at 127.0.0.1:1'),
    });
    const doctor = await bridgeCommand(['doctor', '--json'], noKafka);
    expect(failed(doctor)).toEqual([expect.stringMatching(/^kafka: Kafka cannot be reached/)]);
    const noService = { MACHINE_CLOUD_BASE_URL: 'http://127.0.0.1:1' };
    expect((await bridgeCommand(['config', 'check'], noService)).exitCode).toBe(69);
    expect((await bridgeCommand(['doctor', '--url', 'http://127.0.0.1:1'])).exitCode).toBe(69);
    const wrong = await bridgeCommand(['config', 'check'], { POLL_INTERVAL_SECONDS: 'often' });
    expect(wrong.exitCode).toBe(78);
    expect(wrong.stdout).toMatch(/fail {2}POLL_INTERVAL_SECONDS +must be a whole number/);
    expect((await bridgeCommand(['config', 'chek'])).exitCode).toBe(64);
    expect((await bridgeCommand(['offsets', 'reset', 'x', '--to', 'noon'])).exitCode).toBe(64);
    expect((await bridgeCommand(['send'])).exitCode).toBe(64);
    expect((await bridgeCommand(['machines', '--state', 'RUNNING'])).exitCode).toBe(64);
    // a dozen commands, one after the other
  });

  it('names a misspelt setting, and uses no other Kafka instead', async () => {
    const misspelt = { KAFKA_BROKERS: '', KAFKA_BROKER: 'kafka.example.com:9092' };
    expect(await bridgeCommand(['topics', 'list'], misspelt)).toMatchObject({
      exitCode: 78,
      stdout: '',
      stderr: containing('KAFKA_BROKER is not a setting: KAFKA_BROKERS is'),
    });
    const checked = await bridgeCommand(['config', 'check'], { POLL_INTERVAL_SECOND: '30' });
    expect(checked.exitCode).toBe(0);
    expect(checked.stdout).toMatch(
      /warn {2}POLL_INTERVAL_SECOND +has no effect\n.*POLL_INTERVAL_SECONDS is/,
    );
  });

  it('finds no fault with a running bridge', async () => {
    const result = await bridgeCommand(['doctor', '--json']);
    expect({ failed: failed(result), exitCode: result.exitCode }).toEqual({
      failed: [],
      exitCode: 0,
    });
    const checked = jsonLines<Finding>(result).map(({ check }) => check);
    expect(checked).toEqual(
      expect.arrayContaining(['consumer group', 'lag', 'service clock', 'bridge', 'bridge kafka']),
    );
    const [version] = jsonLines<Finding>(result).filter(({ check }) => check === 'bridge version');
    expect(version).toMatchObject({
      status: 'ok',
      detail: expect.stringMatching(/^machine-bridge \d+\.\d+\.\d+, Node\.js v\d+/) as string,
    });
  });

  it('reports that the running bridge has another topic prefix', async () => {
    const result = await runCommand(['doctor', '--json'], {
      topicPrefix: uniqueTopicPrefix(),
      env: settings(),
    });
    expect(failed(result)).toEqual([
      expect.stringMatching(/^consumer group: .+ 1 member, and none of the topics/),
    ]);
    expect(result.exitCode).toBe(1);
  });

  it('mistakes no other server for a bridge', async () => {
    const result = await bridgeCommand(['doctor', '--json', '--url', plant.sandbox.url]);
    const why = `bridge: ${plant.sandbox.url} is no bridge: /health/ready answers with 404`;
    expect(failed(result)).toEqual([expect.stringContaining(why)]);
    expect(result.exitCode).toBe(1);
  });

  it('reports another version of a running bridge, even if some answers are missing', async () => {
    const ready = { details: { kafka: { status: 'up' }, outcomes: { status: 'up' } } };
    const { port } = await serve((request, response) => {
      const metrics = 'machine_bridge_build_info{version="9.8.7"} 1\n';
      if (request.url === '/api/flows') request.socket.destroy();
      response.end(request.url === '/metrics' ? metrics : JSON.stringify(ready));
    });
    const result = await bridgeCommand(['doctor', '--json', '--url', `http://127.0.0.1:${port}`]);
    const found = jsonLines<Finding>(result).filter(({ check }) =>
      ['bridge version', 'bridge partitions'].includes(check),
    );
    expect(found).toMatchObject([
      { status: 'warn', detail: 'machine-bridge 9.8.7, Node.js unknown' },
      { status: 'warn', detail: containing('/api/flows') },
    ]);
    expect(result.exitCode).toBe(0);
  });

  it('lists the machines of the group and those of one bridge', async () => {
    interface Machine {
      machineId: string;
      factoryId: string;
      state: { state: string } | null;
    }
    const machines = await eventually('all machines are published', async () => {
      const all = jsonLines<Machine>(await bridgeCommand(['machines', '--json']));
      return all.length === 12 && all.every(({ state }) => state !== null) && all;
    });
    const table = await bridgeCommand(['machines', 'm-001']);
    expect(table.stdout).toMatch(/^machine +state +since +observation/);
    expect(table.stdout).toContain('1 of 12 machines');
    // states change by themselves
    await eventually('those of one state are listed', async () => {
      const listed = async (...of: string[]): Promise<string[]> =>
        jsonLines<Machine>(await bridgeCommand(['machines', ...of, '--json'])).map(
          ({ machineId, state }) => `${machineId} ${state?.state}`,
        );
      const all = await listed();
      const [, state = ''] = all[0]?.split(' ') ?? [];
      const wanted = all.filter((line) => line.endsWith(` ${state}`));
      return wanted.length > 0 && (await listed('--state', state)).join() === wanted.join();
    });
    const asked = jsonLines<Machine>(await bridgeCommand(['machines', '--bridge', '--json']));
    expect(asked.map(({ machineId }) => machineId).sort()).toEqual(
      machines.map(({ machineId }) => machineId),
    );
  });

  it('watches the outcomes of a machine until Ctrl-C', async () => {
    const watching = new RunningCommand(['watch', '--machine', 'M-001', '--json'], {
      topicPrefix: plant.kafka.topicPrefix,
      env: settings(),
    });
    await watching.untilOutputMatches(/watching; Ctrl-C ends it/);
    await plant.kafka.sendList('M-002', ['1']);
    await plant.kafka.sendList('M-001', ['2']);
    await watching.untilOutputMatches(/work-order-list\.applied\.v1/);
    watching.kill('SIGINT');
    const result = await watching.result();
    expect(result.exitCode).toBe(0);
    const ids = jsonLines<{ data: { machineId: string } }>(result).map(
      ({ data }) => data.machineId,
    );
    expect(new Set(ids)).toEqual(new Set(['M-001']));
  });

  it('resets offsets only while the group has no members', async () => {
    const LISTS = TOPICS.workOrderLists;
    const isApplied = () => outcomes.records.length;
    await plant.kafka.sendList('M-003', ['3']);
    const sent = await plant.kafka.topics.endOffset(LISTS);
    await eventually('all lists are applied', () => isApplied() === sent);
    const reset = ['offsets', 'reset', LISTS, '--to', 'earliest'];
    expect(await bridgeCommand([...reset, '--yes'])).toMatchObject({
      exitCode: 1,
      stderr: containing('stop every bridge of the group first'),
    });
    const ownTopic = ['offsets', 'reset', 'machine-bridge.relayed-orders.v1', '--to', 'latest'];
    expect(await bridgeCommand(ownTopic)).toMatchObject({
      exitCode: 1,
      stderr: containing('is no input topic'),
    });
    await plant.bridge.close();
    const planned = await bridgeCommand(reset);
    expect(planned).toMatchObject({
      exitCode: 0,
      stdout: containing('Nothing has been reset: add --yes'),
    });
    interface Offset {
      topic: string;
      committed: number | null;
      lag: number;
    }
    const shown = async () => jsonLines<Offset>(await bridgeCommand(['offsets', 'show', '--json']));
    const lag = async () =>
      (await shown())
        .filter(({ topic }) => topic.endsWith(LISTS))
        .reduce((sum, offset) => sum + offset.lag, 0);
    expect(await lag()).toBe(0);
    const ofReasons = (await shown()).filter(({ topic }) => topic.endsWith(TOPICS.downtimeReasons));
    expect(ofReasons.map(({ committed }) => committed)).toContain(null);
    expect(await bridgeCommand([...reset, '--yes', '--json'])).toMatchObject({ exitCode: 0 });
    expect(await lag()).toBe(sent);
    const again = await bridgeCommand([...reset, '--yes']);
    expect(again.stdout).toContain('The offsets have been reset.\n');
    expect(await bridgeCommand(['doctor', '--json'])).toMatchObject({ exitCode: 69 });
    await plant.restartBridge();
    await eventually('all are answered again', () => isApplied() === 2 * sent);
  });
});

describe('machine-bridge, beside records of another program', () => {
  const topicPrefix = uniqueTopicPrefix();
  const kafka = new TestKafka(testBrokers(), topicPrefix);
  const { registry, states, stateChanges, commandOutcomes } = TOPICS;

  beforeAll(() => kafka.topics.createMissing(1, registry, states, stateChanges, commandOutcomes));
  afterAll(() => kafka.close());

  it('lists the machines that the bridge has published', async () => {
    const press = { machineId: 'M-1', displayName: 'Press', factoryId: 'F-1', factoryName: '' };
    const theirs = ['{', '7', '{"machineId":"theirs"}'].map((value) => ({ key: 'theirs', value }));
    const ours = { key: 'M-1', value: JSON.stringify(press) };
    await kafka.send(registry, ...theirs, ours, { key: 'M-2', value: ours.value });
    await kafka.send(states, { key: 'M-1', value: '{' });
    const listed = await runCommand(['machines', '--json'], { topicPrefix });
    expect(jsonLines(listed)).toEqual([{ ...press, state: null }]);
  });

  it('watches what is published behind one with a time that no date has', async () => {
    const aheadOfTime = { 'message.timestamp.after.max.ms': '9223372036854775807' };
    await kafka.topics.configure(commandOutcomes, aheadOfTime);
    const watching = new RunningCommand(['watch'], { topicPrefix });
    await watching.untilOutputMatches(/watching; Ctrl-C ends it/);
    await kafka.send(commandOutcomes, { value: '{}', timestamp: `${Date.now()}000000` });
    await kafka.send(commandOutcomes, { value: '{"machineId":"M-1"}' });
    await watching.untilOutputMatches(/ {2}M-1 /);
    watching.kill('SIGINT');
    expect((await watching.result()).exitCode).toBe(0);
  });
});

describe('machine-bridge topics create', () => {
  const topicPrefix = uniqueTopicPrefix();
  const topics = (...args: string[]): Promise<CommandResult> =>
    runCommand(['topics', ...args], { topicPrefix, env: { KAFKA_TOPIC_PARTITIONS: '2' } });

  it.each(['dlq list', 'offsets show'])(
    'names the setting to check when none of its topics exists: %s',
    async (command) => {
      const elsewhere = { topicPrefix: uniqueTopicPrefix() };
      const { stdout, stderr } = await runCommand(command.split(' '), elsewhere);
      expect(stdout + stderr).toContain('see KAFKA_TOPIC_PREFIX');
    },
  );

  it('only prints its plan unless --yes is given', async () => {
    const planned = await topics('create');
    expect(planned.exitCode).toBe(0);
    expect(planned.stdout).toContain(`${topicPrefix}${TOPICS.workOrders}: planned\n`);
    expect(planned.stdout).toContain('Nothing has been created: add --yes');
    expect((await topics('list')).stdout).toMatch(/erp\.work-orders\.v1 +in +delete +\(missing\)/);
    const created = jsonLines<{ result: string }>(await topics('create', '--yes', '--json'));
    expect(new Set(created.map(({ result }) => result))).toEqual(new Set(['created']));
    expect((await topics('create', '--yes')).stdout).toBe('No topic is missing.\n');
    const listed = jsonLines<{ partitions: number }>(await topics('list', '--json'));
    expect(listed).toHaveLength(created.length);
    expect(new Set(listed.map(({ partitions }) => partitions))).toEqual(new Set([2]));
  });
});

describe('machine-bridge completion', () => {
  const complete = async (words: string[]): Promise<string[]> => {
    const { stdout: script } = await runCommand(['completion', 'bash'], { topicPrefix: '' });
    const call = `${script}
COMP_WORDS=(machine-bridge ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}
_machine_bridge; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = await run('bash', ['-c', call]);
    return stdout.split('\n').filter((word) => word !== '');
  };

  it('offers commands, options and values in bash', async () => {
    expect(await complete(['off'])).toEqual(['offsets']);
    expect(await complete(['offsets', ''])).toEqual(expect.arrayContaining(['show', 'reset']));
    expect(await complete(['dlq', 'list', '--cod'])).toEqual(['--code']);
    expect(await complete(['dlq', 'list', '--code', 'unknown-'])).toEqual([
      'unknown-machine',
      'unknown-reason',
    ]);
    expect(await complete(['completion', 'z'])).toEqual(['zsh']);
  });

  it.each([
    ['> /dev/full', 1, /^the output cannot be written: .*ENOSPC/],
    ['| head -1', 0, /^$/],
  ])('reports whether and why its script could not be written: %s', async (to, code, why) => {
    const command = `set -o pipefail; '${process.execPath}' dist/apps/cli/src/main.js completion bash ${to}`;
    const ended = await endOf(command, process.env);
    expect(ended.code).toBe(code);
    expect(ended.stderr).toMatch(why);
  });
});

describe('machine-bridge doctor', () => {
  it('reports that a bridge of another group has the same topics', async () => {
    const plant = await startPlant();
    const { topicPrefix } = plant.kafka;
    const environment = {
      ...bridgeEnvironment({
        ...{ brokers: testBrokers(), topicPrefix, partitions: 3 },
        sandboxUrl: plant.sandbox.url,
      }),
      ...{ KAFKA_GROUP_ID: `${plant.groupId}-other`, BRIDGE_FLOWS: 'downtime-reasons' },
      ...{ LOG_LEVEL: 'silent', ...plant.clockEnv },
    };
    let other: Awaited<ReturnType<typeof createBridge>> | undefined;
    try {
      other = await createBridge(loadBridgeSettings(environment));
      await other.start();
      await eventually('doctor says so', async () => {
        const { stdout } = await runCommand(['doctor', '--url', plant.bridgeUrl], {
          topicPrefix,
          env: { ...environment, KAFKA_GROUP_ID: plant.groupId },
        });
        return /warn {2}bridge partitions +.* both have .*\n.*KAFKA_GROUP_ID/.test(stdout);
      });
    } finally {
      await other?.close();
      await plant.close();
    }
  });

  it('reports the leftovers of topics that got more partitions', async () => {
    const plant = await startPlant();
    const { topicPrefix, topics } = plant.kafka;
    const env = bridgeEnvironment({
      ...{ brokers: testBrokers(), topicPrefix, partitions: 3 },
      sandboxUrl: plant.sandbox.url,
    });
    try {
      const registry = await plant.kafka.read(TOPICS.registry);
      await eventually('machines are published', () => registry.records.length > 3);
      const warnings = async (): Promise<string[]> => {
        const result = await runCommand(['doctor', '--json', '--url', plant.bridgeUrl], {
          ...{ topicPrefix, env: { ...env, KAFKA_GROUP_ID: plant.groupId } },
        });
        return jsonLines<Finding>(result).flatMap(({ status, check, detail, remedy }) =>
          status === 'warn' && /^(keys|topic) /.test(check)
            ? `${check.replace(topicPrefix, '')}: ${detail}, do: ${remedy}`
            : [],
        );
      };
      expect(await warnings()).toEqual([]);
      // it would add partitions to its orders, sooner or later
      await plant.bridge.close();
      await topics.growToPartitions(TOPICS.registry, 7);
      await topics.growToPartitions('machine-bridge.relayed-orders.v1', 7);
      const found = await warnings();
      expect(found).toContainEqual(
        expect.stringMatching(
          /^keys of machine\.registry\.v1: \d+ records? not in the partition of their key, such as .+ in partition \d: .*, do: the topic was given more partitions/,
        ),
      );
      expect(found).toContainEqual(
        expect.stringMatching(/^topic machine-bridge\.orders\.v1: .*, do: if .* the ledger stops/),
      );
    } finally {
      await plant.close();
    }
  });

  it('fails as its checks do even if its output is not read to the end', async () => {
    const command = `set -o pipefail; '${process.execPath}' dist/apps/cli/src/main.js doctor | head -1`;
    const away = {
      KAFKA_BROKERS: '127.0.0.1:1',
      MACHINE_CLOUD_BASE_URL: 'http://127.0.0.1:1',
      MACHINE_CLOUD_TOKEN: 'a-token',
    };
    const ended = await endOf(command, { PATH: process.env['PATH'], ...away });
    expect(ended.code).toBe(69);
  });
});

function endOf(command: string, env: Environment): Promise<{ code: number; stderr: string }> {
  return run('bash', ['-c', command], { env: { ...env } }).then(
    ({ stderr }) => ({ code: 0, stderr }),
    (error: unknown) => error as { code: number; stderr: string },
  );
}
