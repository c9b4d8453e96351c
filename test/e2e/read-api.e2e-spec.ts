import { TOPICS } from '#libs/contracts';
import { eventually } from '../support/eventually.js';
import { type Plant, startPlant } from '../support/plant.js';

type Answer = Record<string, unknown>;

const MACHINE_KEYS = ['displayName', 'factoryId', 'factoryName', 'machineId', 'state'];
const STATE_KEYS = [
  ...['displayName', 'factoryId', 'lastUpdateTime', 'machineId', 'observation'],
  ...['sequence', 'settledUntil', 'startTime', 'state'],
];
const OUTCOME_KEYS = ['appliedAt', 'attempts', 'code', 'detail', 'machineId', 'source', 'type'];

const keysOf = (value: unknown): string[] => Object.keys(value as Answer).sort();

describe('the read API', () => {
  let plant: Plant;

  beforeAll(async () => {
    plant = await startPlant({ env: { EQUIPMENT_MAP_FILE: 'demo/equipment-map.json' } });
    const list = { machineId: 'M-001', workingOrders: ['4711', '4712'] };
    await plant.kafka.sendJson(TOPICS.workOrderLists, 'M-001', list);
    const operation = { operationId: '0010', plant: '1000', workCentre: 'NOWHERE' };
    const operations = [{ ...operation, status: 'released' }];
    const order = { orderId: 'A-1', changedAt: 100, status: 'released', operations };
    await plant.kafka.sendJson(TOPICS.workOrders, 'A-1', order);
  });

  afterAll(() => plant.close());

  const get = async <T>(path: string): Promise<T> => {
    const response = await fetch(`${plant.bridgeUrl}${path}`);
    expect(response.status).toBe(200);
    return (await response.json()) as T;
  };

  it('tells of a machine its state, the list last applied and what became of messages, and no more', async () => {
    const machine = await eventually(
      async () => {
        const details = await get<Answer>('/api/machines/M-001');
        const hasOutcome = (details['lastOutcomes'] as Answer[]).length > 0;
        return (
          hasOutcome && details['workOrderList'] !== null && details['state'] !== null && details
        );
      },
      { what: 'the list is applied and published, and the state observed' },
    );
    expect(keysOf(machine)).toEqual([...MACHINE_KEYS, 'lastOutcomes', 'workOrderList'].sort());
    expect(keysOf(machine['state'])).toEqual(STATE_KEYS);
    expect(machine['workOrderList']).toEqual({
      workingOrders: ['4711', '4712'],
      appliedAt: expect.any(Number) as number,
    });
    const outcomes = machine['lastOutcomes'] as Answer[];
    expect(outcomes.map(keysOf)).toEqual([OUTCOME_KEYS]);
    expect(keysOf(outcomes[0]?.['source'])).toEqual(['messageId', 'offset', 'partition', 'topic']);
  });

  it('tells what became of messages for a machine that is not listed', async () => {
    const list = { machineId: 'M-999', workingOrders: [] };
    await plant.kafka.sendJson(TOPICS.workOrderLists, 'M-999', list);
    const path = `${plant.bridgeUrl}/api/machines/M-999`;
    await eventually(async () => (await fetch(path)).status === 200, { what: 'it is listed' });
    expect(await get('/api/machines/M-999')).toMatchObject({
      ...{ machineId: 'M-999', displayName: 'M-999', state: null, workOrderList: null },
      lastOutcomes: [{ type: 'work-order-list.rejected.v1', code: 'unknown-machine' }],
    });
  });

  it('says that its answers are data, for nobody to keep or frame', async () => {
    const { headers } = await fetch(`${plant.bridgeUrl}/api/machines/M-001`);
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
    });
  });

  it('does not find a machine that nothing is known of', async () => {
    const response = await fetch(`${plant.bridgeUrl}/api/machines/M-998`);
    expect(response.status).toBe(404);
  });

  it('lists machines with their states alone', async () => {
    const machines = await get<Answer[]>('/api/machines');
    expect(machines).toHaveLength(12);
    for (const machine of machines) expect(keysOf(machine)).toEqual(MACHINE_KEYS);
  });

  it('tells of work centres that no machine is mapped for', async () => {
    const places = await eventually(
      async () => {
        const unmapped = await get<Answer[]>('/api/equipment/unmapped');
        return unmapped.length > 0 && unmapped;
      },
      { what: 'the work centre is listed' },
    );
    expect(places).toEqual([
      {
        plant: '1000',
        workCentre: 'NOWHERE',
        operations: 1,
        orderIds: ['A-1'],
        firstSeenAt: expect.any(Number) as number,
        lastSeenAt: expect.any(Number) as number,
      },
    ]);
  });
});
