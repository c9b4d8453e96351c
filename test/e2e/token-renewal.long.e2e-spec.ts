import { TOPICS } from '#libs/contracts';
import { AppProcess } from '../support/app-process.js';
import { bridgeEnvironment } from '../support/bridge-environment.js';
import { eventually } from '../support/eventually.js';
import { testBrokers, TestKafka, uniqueTopicPrefix } from '../support/kafka.js';
import { type RunningSandbox, startSandbox } from '../support/running-sandbox.js';
import { header } from '../support/topic-reader.js';

const PASSWORD = 'hunter2-hunter2';
const MACHINES = ['M-001', 'M-002', 'M-003', 'M-004'];

describe('a bridge that logs in', () => {
  const topicPrefix = uniqueTopicPrefix();
  const kafka = new TestKafka(testBrokers(), topicPrefix);
  let sandbox: RunningSandbox;
  let running: AppProcess | undefined;

  beforeAll(async () => {
    sandbox = await startSandbox({ SANDBOX_LOGIN_PASSWORD: PASSWORD });
  });

  afterEach(() => running?.close());

  afterAll(async () => {
    await kafka.close().finally(() => sandbox.close());
  });

  const start = (password: string): AppProcess => {
    running = new AppProcess('bridge', {
      ...bridgeEnvironment({ topicPrefix, sandboxUrl: sandbox.control.url }),
      MACHINE_CLOUD_TOKEN: '',
      MACHINE_CLOUD_LOGIN_EMAIL: 'operator@example.com',
      MACHINE_CLOUD_LOGIN_PASSWORD: password,
      LOG_LEVEL: 'trace',
    });
    return running;
  };

  const statuses = async (operation: string): Promise<(number | null)[]> =>
    (await sandbox.control.calls(operation)).map(({ status }) => status);

  it('logs in again whenever its token has expired, and loses nothing', async () => {
    await sandbox.control.setOptions({ tokenLifetimeSeconds: 2 });
    const bridge = start(PASSWORD);
    const url = await bridge.ready();
    const answers = await kafka.read(TOPICS.commandOutcomes, `${TOPICS.workOrderLists}.dlq`);
    let sent = 0;
    const isRenewed = async (): Promise<boolean> =>
      (await statuses('getAPIToken')).length >= 3 &&
      (await statuses('setWorkOrderList')).includes(401);
    while (!(await isRenewed())) {
      for (const machineId of MACHINES) await kafka.sendList(machineId, [`order-${(sent += 1)}`]);
    }
    await eventually(() => answers.records.length >= sent, { what: 'an outcome of each list' });
    const types = answers.records.map((record) => header(record, 'ce_type'));
    expect(new Set(types)).toEqual(
      new Set(types.filter((type) => /applied|superseded/.test(type!))),
    );
    for (const [index, machineId] of MACHINES.entries()) {
      const order = `order-${sent - MACHINES.length + index + 1}`;
      await sandbox.control.listBecomes(machineId, [order]);
    }
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toMatch(
      /cloud_call_duration_seconds_count\{operation="getAPIToken",status="200"\}/,
    );
    expect(bridge.output).toContain('access token obtained');
    expect(bridge.output + metrics).not.toContain(PASSWORD);
  });

  it('waits, and says so, while its password is refused', async () => {
    const wrong = 'wrong-password';
    const bridge = start(wrong);
    const url = await bridge.url();
    await kafka.sendList('M-005', ['waiting']);
    const health = await eventually(
      async () => {
        const text = await (await fetch(`${url}/health/ready`)).text();
        return (
          text.includes('no access token: getAPIToken: the credentials are not accepted') && text
        );
      },
      { what: 'the flow stands still' },
    );
    expect(bridge.output).toContain('getAPIToken: the credentials are not accepted (HTTP 401)');
    expect((await sandbox.control.machine('M-005')).workingOrders).toEqual([]);
    expect(bridge.output + health).not.toContain(wrong);
  });
});
