import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '#libs/config';
import { TOPICS } from '#libs/contracts';
import { BridgeProcess } from '../support/bridge-process.js';
import { bridgeEnvironment } from '../support/chaos/bridge-environment.js';
import { untilUnready } from '../support/chaos/health.js';
import { eventually } from '../support/eventually.js';
import { testBrokers, TestKafka, uniqueTopicPrefix } from '../support/kafka.js';
import { runCommand } from '../support/run-command.js';
import { type RunningSandbox, startSandbox } from '../support/running-sandbox.js';
import { Authority } from '../support/tls/authority.js';
import { ConnectProxy, PROXY_PASSWORD } from '../support/tls/connect-proxy.js';
import { type ServiceGateway, startServiceGateway } from '../support/tls/service-gateway.js';
import { TlsListener } from '../support/tls/tls-listener.js';
import type { ReadRecord } from '../support/topic-reader.js';

const MACHINE = 'M-001';
const SERVICE = 'cloud.test:443';
const TOKENS = 'login.test:8443';
const FIRST_ORDER = 4710;

describe('a service that is reached through a proxy', () => {
  const authority = new Authority('Cloud CA');
  const topicPrefix = uniqueTopicPrefix();
  const kafka = new TestKafka(testBrokers(), topicPrefix);
  const hosts = ['cloud.test', 'login.test', 'localhost'];
  const identity = authority.identify({ name: 'cloud', hosts });
  let folder: string;
  let sandbox: RunningSandbox;
  let gateway: ServiceGateway;
  let tokens: TlsListener;
  let proxy: ConnectProxy;
  let env: Environment;
  let running: BridgeProcess | undefined;
  let sent = FIRST_ORDER;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'proxied-service-'));
    const ca = join(folder, 'ca.pem');
    await writeFile(ca, authority.certificate);
    sandbox = await startSandbox();
    gateway = await startServiceGateway(sandbox.control.url, identity);
    tokens = await TlsListener.start(identity, (caller) => {
      const grant = JSON.stringify({ access_token: 'sandbox-token', token_type: 'Bearer' });
      const head = `HTTP/1.1 200 OK\r\ncontent-length: ${grant.length}\r\n\r\n`;
      caller.on('data', () => caller.write(head + grant));
    });
    proxy = await ConnectProxy.start({ [SERVICE]: gateway.url, [TOKENS]: tokens.url });
    await kafka.topics.create(1, TOPICS.workOrderLists, TOPICS.commandOutcomes);
    env = {
      ...bridgeEnvironment({
        brokers: testBrokers(),
        topicPrefix,
        partitions: 1,
        sandboxUrl: 'https://cloud.test',
      }),
      BRIDGE_FLOWS: 'work-orders',
      MACHINE_CLOUD_TIMEOUT_MS: '1000',
      NODE_EXTRA_CA_CERTS: ca,
      HTTPS_PROXY: proxy.url(),
    };
  });

  afterEach(() => running?.close());

  afterAll(async () => {
    await proxy.stop();
    await gateway.close();
    await tokens.close();
    await sandbox.close();
    await kafka.close();
    await rm(folder, { recursive: true });
  });

  const start = (extra: Environment = {}): BridgeProcess =>
    (running = new BridgeProcess({ ...env, ...extra }));
  const sendList = async (): Promise<string> => {
    const order = String((sent += 1));
    const list = { machineId: MACHINE, workingOrders: [order] };
    await kafka.sendJson(TOPICS.workOrderLists, MACHINE, list);
    return order;
  };
  const applies = async (order: string): Promise<void> =>
    sandbox.control.listBecomes(MACHINE, [order]);

  it('gets lists through tunnels, each of which carries several calls', async () => {
    await start().ready();
    const opened = proxy.opened.length;
    for (let list = 0; list < 6; list += 1) await applies(await sendList());
    expect(new Set(proxy.opened)).toEqual(new Set([SERVICE]));
    expect(proxy.opened.length - opened).toBeLessThan(6);
  });

  it('gets tokens from an OAuth server that is reached through it as well', async () => {
    const before = proxy.opened.length;
    await start({
      MACHINE_CLOUD_TOKEN: '',
      MACHINE_CLOUD_OAUTH_TOKEN_URL: `https://${TOKENS}/oauth/token`,
      MACHINE_CLOUD_OAUTH_CLIENT_ID: 'plant-bridge',
      MACHINE_CLOUD_OAUTH_CLIENT_SECRET: 'hunter2-of-the-client',
    }).ready();
    await applies(await sendList());
    expect(proxy.opened.slice(before)).toEqual(expect.arrayContaining([TOKENS, SERVICE]));
  });

  it('has the tunnel reset on which a call is given up', async () => {
    await start().ready();
    await sandbox.control.addFault({ operation: 'setWorkOrderList', hang: true, count: 1 });
    const before = proxy.ends.length;
    const order = await sendList();
    await eventually(() => proxy.ends.slice(before).includes('ECONNRESET'), {
      what: 'a tunnel is reset',
    });
    await applies(order);
  });

  it.each<[what: string, fault: ConnectProxy['fault'], message: RegExp]>([
    ['does not accept the login', 407, /proxy http:\S+ does not accept the login .*\(407\)/],
    [
      'has no way to the service',
      502,
      /proxy http:\S+ has opened no tunnel to cloud.test:443.*502/,
    ],
    ['does not answer', 'hang', /no answer of the proxy http:\S+ for cloud.test:443 in 900 ms/],
  ])('is waited for while the proxy %s', async (_, fault, message) => {
    proxy.fault = fault;
    const order = await sendList();
    const url = await start().url();
    const { problems } = await untilUnready(url, 'work-orders');
    expect(problems['work-orders']).toMatch(message);
    proxy.fault = undefined;
    await applies(order);
  });

  it('is waited for while the proxy is down', async () => {
    const bridge = start();
    await bridge.ready();
    await applies(await sendList());
    await proxy.stop();
    const order = await sendList();
    const { problems } = await untilUnready(await bridge.url(), 'work-orders');
    expect(problems['work-orders']).toMatch(/no tunnel through the proxy http:\S+ .*ECONNREFUSED/);
    await proxy.start();
    await applies(order);
  });

  it('is reached without it where it is excepted', async () => {
    const before = proxy.asked;
    const order = await sendList();
    const bridge = start({ NO_PROXY: 'elsewhere.test, .test' });
    const { problems } = await untilUnready(await bridge.url(), 'work-orders');
    expect(problems['work-orders']).toMatch(/ENOTFOUND|EAI_AGAIN/);
    await bridge.close();
    await start({ MACHINE_CLOUD_BASE_URL: gateway.url }).ready();
    await applies(order);
    expect(proxy.asked).toBe(before);
  });

  it('is checked through it by config check, which shows no login', async () => {
    const before = proxy.opened.length;
    const { stdout, stderr } = await runCommand(['config', 'check'], { topicPrefix, env });
    expect(stdout).toMatch(/HTTPS_PROXY +environment +http:\/\/\*{8}@127\.0\.0\.1:\d+/);
    expect(stdout).toMatch(/service setWorkOrderList/);
    expect(stdout + stderr).not.toContain(PROXY_PASSWORD);
    expect(proxy.opened.length).toBeGreaterThan(before);
  });

  it('has lost no message over it', async () => {
    await start().ready();
    const outcomes = await kafka.read(TOPICS.commandOutcomes);
    const isFinal = (type: string) => !type.includes('deferred');
    const typeOf = ({ headers }: ReadRecord) => String(headers['ce_type']);
    await eventually(
      () => outcomes.records.map(typeOf).filter(isFinal).length >= sent - FIRST_ORDER,
      { what: 'an outcome of each list' },
    );
    expect(outcomes.records.map(typeOf)).not.toContain('work-order-list.rejected.v1');
  });
});
