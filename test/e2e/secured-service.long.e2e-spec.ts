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
import { type RunningSandbox, startSandbox } from '../support/running-sandbox.js';
import { Authority } from '../support/tls/authority.js';
import { startEndlessAnswers } from '../support/tls/endless-answers.js';
import { type ServiceGateway, startServiceGateway } from '../support/tls/service-gateway.js';

const MACHINE = 'M-001';

describe('a service that is reached by TLS', () => {
  const authority = new Authority('Cloud CA');
  const topicPrefix = uniqueTopicPrefix();
  const kafka = new TestKafka(testBrokers(), topicPrefix);
  const identity = authority.identify({ name: 'cloud', hosts: ['localhost'] });
  let folder: string;
  let sandbox: RunningSandbox;
  let gateway: ServiceGateway;
  let env: Environment;
  let running: BridgeProcess | undefined;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'secured-service-'));
    const ca = join(folder, 'ca.pem');
    await writeFile(ca, authority.certificate);
    sandbox = await startSandbox();
    gateway = await startServiceGateway(sandbox.control.url, identity);
    await kafka.topics.create(1, TOPICS.workOrderLists, TOPICS.commandOutcomes);
    env = {
      ...bridgeEnvironment({
        brokers: testBrokers(),
        topicPrefix,
        partitions: 1,
        sandboxUrl: gateway.url,
      }),
      BRIDGE_FLOWS: 'work-orders',
      MACHINE_CLOUD_TIMEOUT_MS: '1000',
      NODE_EXTRA_CA_CERTS: ca,
    };
  });

  afterEach(() => running?.close());

  afterAll(async () => {
    await gateway.close();
    await sandbox.close();
    await kafka.close();
    await rm(folder, { recursive: true });
  });

  const start = (extra: Environment = {}): BridgeProcess =>
    (running = new BridgeProcess({ ...env, ...extra }));
  const sendList = (...workingOrders: string[]): Promise<void> =>
    kafka.sendJson(TOPICS.workOrderLists, MACHINE, { machineId: MACHINE, workingOrders });

  it('gets lists where the authority of its certificate is trusted', async () => {
    await start().ready();
    await sendList('4711');
    await sandbox.control.listBecomes(MACHINE, ['4711']);
  });

  it('has the connection reset on which a call is given up', async () => {
    await start().ready();
    await sandbox.control.addFault({ operation: 'setWorkOrderList', hang: true, count: 1 });
    const before = gateway.ends.length;
    await sendList('4712');
    await eventually(() => gateway.ends.slice(before).includes('ECONNRESET'), {
      what: 'a connection is reset',
    });
    await sandbox.control.listBecomes(MACHINE, ['4712']);
  });

  it('may leave answers without their end, again and again: each call gives its connection back', async () => {
    const answers = await startEndlessAnswers(identity);
    await sendList('4713');
    start({ MACHINE_CLOUD_BASE_URL: answers.url });
    await eventually(() => answers.givenUp() > 3, { what: 'connections are given up' });
    await answers.close();
  });

  it('is reported by the fault of its certificate where that is not trusted', async () => {
    await sendList('4714');
    const url = await start({ NODE_EXTRA_CA_CERTS: '' }).url();
    const { problems } = await untilUnready(url, 'work-orders');
    expect(problems['work-orders']).toMatch(/certificate/);
  });
});
