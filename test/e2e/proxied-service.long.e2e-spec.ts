import { TOPICS } from '#libs/contracts';
import { untilUnreadyBecause } from '../support/health.js';
import { eventually } from '../support/eventually.js';
import { runCommand } from '../support/run-command.js';
import { ConnectProxy, PROXY_PASSWORD } from '../support/tls/connect-proxy.js';
import { ServiceBehindTls } from '../support/tls/service-behind-tls.js';
import { TlsListener } from '../support/tls/tls-listener.js';
import type { ReadRecord } from '../support/topic-reader.js';

const SERVICE = 'cloud.test:443';
const TOKENS = 'login.test:8443';
const FIRST_ORDER = 4710;

describe('a service behind a proxy', () => {
  let service: ServiceBehindTls;
  let tokens: TlsListener;
  let proxy: ConnectProxy;
  let sent = FIRST_ORDER;

  beforeAll(async () => {
    service = await ServiceBehindTls.start('cloud.test', 'login.test', 'localhost');
    tokens = await TlsListener.start(service.identity, (caller) => {
      const grant = JSON.stringify({ access_token: 'sandbox-token', token_type: 'Bearer' });
      const head = `HTTP/1.1 200 OK\r\ncontent-length: ${grant.length}\r\n\r\n`;
      caller.on('data', () => caller.write(head + grant));
    });
    proxy = await ConnectProxy.start({ [SERVICE]: service.gateway.url, [TOKENS]: tokens.url });
    Object.assign(service.env, {
      MACHINE_CLOUD_BASE_URL: 'https://cloud.test',
      HTTPS_PROXY: proxy.url(),
    });
  });

  afterEach(() => service.stopBridge());

  afterAll(async () => {
    await proxy.stop();
    await tokens.close();
    await service.close();
  });

  const sendList = async (): Promise<string> => {
    const order = String((sent += 1));
    await service.sendList(order);
    return order;
  };
  const applies = (order: string): Promise<void> => service.applies(order);

  it('gets lists through tunnels that carry several calls each', async () => {
    await service.startBridge().ready();
    const opened = proxy.opened.length;
    for (let list = 0; list < 6; list += 1) await applies(await sendList());
    expect(new Set(proxy.opened)).toEqual(new Set([SERVICE]));
    expect(proxy.opened.length - opened).toBeLessThan(6);
  });

  it('gets tokens from an OAuth server behind the same proxy', async () => {
    const before = proxy.opened.length;
    await service
      .startBridge({
        MACHINE_CLOUD_TOKEN: '',
        MACHINE_CLOUD_OAUTH_TOKEN_URL: `https://${TOKENS}/oauth/token`,
        MACHINE_CLOUD_OAUTH_CLIENT_ID: 'plant-bridge',
        MACHINE_CLOUD_OAUTH_CLIENT_SECRET: 'hunter2-of-the-client',
      })
      .ready();
    await applies(await sendList());
    expect(proxy.opened.slice(before)).toEqual(expect.arrayContaining([TOKENS, SERVICE]));
  });

  it('has the tunnel of an abandoned call reset', async () => {
    await service.startBridge().ready();
    await service.sandbox.control.addFault({ operation: 'setWorkOrderList', hang: true, count: 1 });
    const before = proxy.ends.length;
    const order = await sendList();
    await eventually('a tunnel is reset', () => proxy.ends.slice(before).includes('ECONNRESET'));
    await applies(order);
  });

  it.each<[what: string, fault: ConnectProxy['fault'], message: RegExp]>([
    ['does not accept the login', 407, /proxy http:\S+ does not accept the login .*\(407\)/],
    [
      'has no way to the service',
      502,
      /proxy http:\S+ has opened no tunnel to cloud.test:443.*502/,
    ],
    ['does not answer', 'hang', /no answer of the proxy http:\S+ for cloud.test:443 in 4500 ms/],
  ])('is awaited while the proxy %s', async (_, fault, message) => {
    proxy.fault = fault;
    const order = await sendList();
    const url = await service.startBridge().url();
    await untilUnreadyBecause(url, message);
    proxy.fault = undefined;
    await applies(order);
  });

  it('is awaited while the proxy is down', async () => {
    const bridge = service.startBridge();
    await bridge.ready();
    await applies(await sendList());
    await proxy.stop();
    const order = await sendList();
    const why = /no tunnel through the proxy http:\S+ .*ECONNREFUSED/;
    await untilUnreadyBecause(await bridge.url(), why);
    await proxy.start();
    await applies(order);
  });

  it('is called directly when it is exempt from the proxy', async () => {
    const before = proxy.asked;
    const order = await sendList();
    const bridge = service.startBridge({ NO_PROXY: 'elsewhere.test, .test' });
    await untilUnreadyBecause(await bridge.url(), /ENOTFOUND|EAI_AGAIN/);
    await bridge.close();
    await service.startBridge({ MACHINE_CLOUD_BASE_URL: service.gateway.url }).ready();
    await applies(order);
    expect(proxy.asked).toBe(before);
  });

  it('is checked through the proxy by config check, which shows no login', async () => {
    const before = proxy.opened.length;
    const { env, kafka } = service;
    const { topicPrefix } = kafka;
    const { stdout, stderr } = await runCommand(['config', 'check'], { topicPrefix, env });
    expect(stdout).toMatch(/HTTPS_PROXY +environment +http:\/\/\*{8}@127\.0\.0\.1:\d+/);
    expect(stdout).toMatch(/service setWorkOrderList/);
    expect(stdout + stderr).not.toContain(PROXY_PASSWORD);
    expect(proxy.opened.length).toBeGreaterThan(before);
  });

  it('has lost no message', async () => {
    await service.startBridge().ready();
    const outcomes = await service.kafka.read(TOPICS.commandOutcomes);
    const isFinal = (type: string) => !type.includes('deferred');
    const typeOf = ({ headers }: ReadRecord) => String(headers['ce_type']);
    await eventually(
      'an outcome of each list',
      () => outcomes.records.map(typeOf).filter(isFinal).length >= sent - FIRST_ORDER,
    );
    expect(outcomes.records.map(typeOf)).not.toContain('work-order-list.rejected.v1');
  });
});
