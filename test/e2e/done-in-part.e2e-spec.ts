import { TOPICS } from '#libs/contracts';
import { eventually } from '../support/eventually.js';
import { untilUnreadyBecause } from '../support/health.js';
import { type Plant, startPlant } from '../support/plant.js';
import { outcomesByMessage } from '../support/outcomes-by-message.js';
import type { LoggedCall } from '../support/sandbox-control.js';
import { ServiceRelay } from '../support/service-relay.js';
import type { TopicReader } from '../support/topic-reader.js';

describe('a message for several machines, one of which the service keeps failing', () => {
  let plant: Plant;
  let outcomes: TopicReader;

  const send = (messageId: string, list: unknown): Promise<void> =>
    plant.kafka.sendJson(TOPICS.workOrderLists, 'key', list, { 'message-id': messageId });

  beforeAll(async () => {
    plant = await startPlant();
    outcomes = await plant.kafka.read(TOPICS.commandOutcomes);
  });

  afterAll(() => plant.close());

  it('restores no old list on the others when it is redelivered', async () => {
    const { sandbox } = plant;
    await sandbox.addFault({ operation: 'setWorkOrderList', machineId: 'M-002', status: 503 });
    await send('both', {
      machines: [
        { machineId: 'M-001', workingOrders: ['old'] },
        { machineId: 'M-002', workingOrders: ['other'] },
      ],
    });
    await sandbox.listBecomes('M-001', ['old']);
    await send('newer', { machineId: 'M-001', workingOrders: ['new'] });
    await eventually(
      'the newer is published',
      () => outcomesByMessage(outcomes)['newer'] !== undefined,
    );
    await plant.bridge.close();

    await sandbox.clearFaults();
    await plant.restartBridge();
    await sandbox.listBecomes('M-002', ['other']);
    await plant.kafka.groups.untilAllCommitted(plant.groupId, TOPICS.workOrderLists);

    expect((await sandbox.machine('M-001')).workingOrders).toEqual(['new']);
    expect(outcomesByMessage(outcomes)['newer']).toEqual(['M-001 applied']);
  });
});

describe('a message for several machines whose first call is under way when the bridge stops', () => {
  let relay: ServiceRelay;
  let plant: Plant;

  beforeAll(async () => {
    relay = await ServiceRelay.start();
    plant = await startPlant({
      prepare: (_, sandbox) => {
        relay.serviceUrl = sandbox.url;
        return Promise.resolve();
      },
      env: {
        ...{ MACHINE_CLOUD_BASE_URL: relay.url, MACHINE_CLOUD_TIMEOUT_MS: '60000' },
        BRIDGE_FLOWS: 'work-orders',
        ...{ WORK_ORDER_LIST_MAX_MACHINES: '1', MACHINE_CLOUD_MAX_CONCURRENCY: '1' },
      },
    });
  });

  afterAll(async () => {
    await plant.close();
    await relay.close();
  });

  it('keeps the bridge in the group until that call is answered and its outcome committed', async () => {
    const { sandbox, kafka } = plant;
    const outcomes = await kafka.read(TOPICS.commandOutcomes);
    const lists = async (): Promise<LoggedCall[]> => sandbox.calls('setWorkOrderList');
    relay.holdAnswers();
    const machines = ['M-001', 'M-002'].map((machineId) => ({ machineId, workingOrders: ['A'] }));
    await kafka.sendJson(TOPICS.workOrderLists, 'key', { machines }, { 'message-id': 'both' });
    await eventually('one is called', async () => (await lists()).length === 1);
    const closed = plant.bridge.close();
    await untilUnreadyBecause(plant.bridgeUrl, 'the bridge is stopping');
    relay.release();
    await closed;
    expect((await lists()).map(({ status }) => status)).toEqual([200]);

    await plant.restartBridge();
    await sandbox.listBecomes('M-002', ['A']);
    await eventually('both are published', () => outcomesByMessage(outcomes)['both']?.length === 2);
    expect((await lists()).flatMap(({ machineIds }) => machineIds)).toEqual(['M-001', 'M-002']);
    expect(outcomesByMessage(outcomes)['both']).toEqual(['M-001 applied', 'M-002 applied']);
  });
});
