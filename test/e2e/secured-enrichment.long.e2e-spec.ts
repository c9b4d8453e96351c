import { TOPICS } from '#libs/contracts';
import { ErpServer } from '../support/erp-server.js';
import { eventually } from '../support/eventually.js';
import { untilUnreadyBecause } from '../support/health.js';
import { type Plant, startPlant } from '../support/plant.js';
import { jsonLines, runCommand } from '../support/run-command.js';
import { temporaryFile } from '../../libs/config/test/temporary-files.js';
import { Authority } from '../support/tls/authority.js';
import { ConnectProxy, PROXY_PASSWORD } from '../support/tls/connect-proxy.js';
import { type ServiceGateway, startServiceGateway } from '../support/tls/service-gateway.js';

const MACHINE = 'M-001';
const PROXIED = 'erp.test:443';
const LOGIN = 'erp.test:8443';
const SECRET = 'secret-of-the-client-of-the-erp';

describe('an ERP with a certificate of a private authority', () => {
  let erp: ErpServer;
  let gateway: ServiceGateway;
  let proxy: ConnectProxy;
  let plant: Plant;
  let sent = 0;
  let env: Record<string, string>;

  beforeAll(async () => {
    erp = await ErpServer.start();
    const authority = new Authority('Private CA of the ERP');
    const hosts = ['erp.test', 'excepted.test', 'localhost'];
    gateway = await startServiceGateway(erp.url, authority.identify({ name: 'erp', hosts }));
    proxy = await ConnectProxy.start({
      ...{ [PROXIED]: gateway.url, [LOGIN]: gateway.url, 'excepted.test:443': gateway.url },
    });
    const caFile = temporaryFile('ca.pem', authority.certificate);
    const ruleOf = (name: string, origin: string, more: object = { caFile }): object => ({
      ...{ name, when: { ce_type: name }, orderId: 'order', timeoutMs: 30_000 },
      ...{ url: `${origin}/orders/{orderId}`, ...more },
    });
    const oauth = {
      ...{ kind: 'oauth', tokenUrl: `https://${LOGIN}/token`, clientId: 'bridge' },
      clientSecret: { env: 'ERP_CLIENT_SECRET' },
    };
    const file = temporaryFile('rules.json', [
      ruleOf('direct', gateway.url),
      ruleOf('untrusted', gateway.url, {}),
      ruleOf('proxied', 'https://erp.test'),
      ruleOf('by-oauth', 'https://erp.test', { caFile, auth: oauth }),
      ruleOf('excepted', 'https://excepted.test'),
      ruleOf('unproxied', 'https://erp.test', { caFile, proxy: false }),
    ]);
    env = {
      ...{ ERP_ENRICHMENT_FILE: file, ERP_CLIENT_SECRET: SECRET, BRIDGE_FLOWS: 'work-orders' },
      ...{ HTTPS_PROXY: proxy.url(), NO_PROXY: 'excepted.test' },
    };
    plant = await startPlant({ env });
  });

  afterAll(async () => {
    await plant.close();
    await proxy.stop();
    await gateway.close();
    await erp.close();
  });

  /** Makes a rule request a new order; returns the order. */
  const sendEvent = async (rule: string): Promise<string> => {
    const order = `${rule}-${(sent += 1)}`;
    erp.orders.set(order, { machineId: MACHINE });
    await plant.kafka.sendJson(
      TOPICS.workOrders,
      order,
      { order },
      {
        ...{ ce_specversion: '1.0', ce_id: order, ce_source: '/erp', ce_type: rule },
        'content-type': 'application/json',
      },
    );
    return order;
  };
  const reaches = async (order: string): Promise<void> => {
    await eventually(`${order} is on the machine's list`, async () =>
      (await plant.sandbox.machine(MACHINE)).workingOrders.includes(order),
    );
  };
  const waits = (rule: string, why: string): Promise<string> =>
    untilUnreadyBecause(plant.bridgeUrl, new RegExp(`enrichment ${rule}: [^;"]*(${why})`));

  it('gets requests if caFile has its authority, on loopback without the proxy', async () => {
    await reaches(await sendEvent('direct'));
    expect(proxy.asked).toBe(0);
  });

  it('gets requests through tunnels of the proxy that carry several GETs each', async () => {
    const orders = [];
    for (let order = 0; order < 6; order += 1) {
      orders.push(await sendEvent('proxied'));
      await reaches(orders.at(-1) ?? '');
    }
    expect(new Set(proxy.opened)).toEqual(new Set([PROXIED]));
    expect(proxy.opened.length).toBeLessThan(orders.length);
  });

  it('gets requests with a token of its own server, which has the same authority', async () => {
    erp.faults.set('token', (request, response) => {
      const isRight = request.headers.authorization === `Basic ${btoa(`bridge:${SECRET}`)}`;
      response.writeHead(isRight ? 200 : 401, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ access_token: 'token-of-the-erp-0', token_type: 'Bearer' }));
    });
    const order = await sendEvent('by-oauth');
    await reaches(order);
    const asked = erp.asked.filter(({ orderId }) => orderId === order);
    expect(asked.map(({ authorization }) => authorization)).toEqual(['Bearer token-of-the-erp-0']);
    expect(proxy.opened).toContain(LOGIN);
  });

  it('is awaited while the proxy rejects the login, which is not shown', async () => {
    // open tunnels would continue
    await proxy.stop();
    await proxy.start();
    proxy.fault = 407;
    const order = await sendEvent('proxied');
    const said = await waits('proxied', 'proxy http:\\S+ does not accept the login .*\\(407\\)');
    expect(said).not.toContain(PROXY_PASSWORD);
    proxy.fault = undefined;
    await reaches(order);
  });

  it('gets no requests through the proxy if the host or the rule is exempt', async () => {
    const before = proxy.asked;
    const rules = ['excepted', 'unproxied'];
    await Promise.all(rules.map(sendEvent));
    for (const rule of rules) await waits(rule, 'ENOTFOUND|EAI_AGAIN');
    expect(proxy.asked).toBe(before);
  });

  it('gets no requests if its authority is not trusted, and its certificate is reported', async () => {
    const order = await sendEvent('untrusted');
    await waits('untrusted', 'certificate');
    expect(erp.askedFor(order)).toBe(0);
  });

  it('gets the same requests from config check, which reports the fault of each', async () => {
    const checked = await runCommand(['config', 'check', '--json'], {
      topicPrefix: plant.kafka.topicPrefix,
      env: {
        ...{ ...env, KAFKA_GROUP_ID: plant.groupId },
        ...{ MACHINE_CLOUD_BASE_URL: plant.sandbox.url, MACHINE_CLOUD_TOKEN: 'sandbox-token' },
      },
    });
    const findings = jsonLines<{ check?: string; status?: string; detail?: string }>(checked);
    const of = (rule: string): string => {
      const found = findings.find(({ check }) => check === `erp ${rule}`);
      return `${found?.status}: ${found?.detail}`;
    };
    for (const rule of ['direct', 'proxied', 'by-oauth']) expect(of(rule)).toMatch(/^ok: .* 404 /);
    expect(of('untrusted')).toMatch(/^fail: .*certificate/);
    for (const rule of ['excepted', 'unproxied']) {
      expect(of(rule)).toMatch(/^fail: .*(ENOTFOUND|EAI_AGAIN)/);
    }
  });
});
