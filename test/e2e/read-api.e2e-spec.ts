import { TOPICS } from '#libs/contracts';
import { eventually } from '../support/eventually.js';
import { type Plant, startPlant } from '../support/plant.js';
import { type CommandResult, runCommand } from '../support/run-command.js';

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
    await plant.kafka.sendList('M-001', ['4711', '4712']);
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

  it('shows the state, latest list and outcomes of a machine, and nothing else', async () => {
    const machine = await eventually(
      'the list is applied and published, and the state observed',
      async () => {
        const details = await get<Answer>('/api/machines/M-001');
        const hasOutcome = (details['lastOutcomes'] as Answer[]).length > 0;
        return (
          hasOutcome && details['workOrderList'] !== null && details['state'] !== null && details
        );
      },
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

  it('shows the outcomes of messages for an unlisted machine', async () => {
    await plant.kafka.sendList('M-999', []);
    const path = `${plant.bridgeUrl}/api/machines/M-999`;
    await eventually('it is listed', async () => (await fetch(path)).status === 200);
    expect(await get('/api/machines/M-999')).toMatchObject({
      ...{ machineId: 'M-999', displayName: 'M-999', state: null, workOrderList: null },
      lastOutcomes: [{ type: 'work-order-list.rejected.v1', code: 'unknown-machine' }],
    });
  });

  it('marks its answers as data that may not be cached or framed', async () => {
    const { headers } = await fetch(`${plant.bridgeUrl}/api/machines/M-001`);
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
    });
  });

  it('answers 404 for an unknown machine', async () => {
    const response = await fetch(`${plant.bridgeUrl}/api/machines/M-998`);
    expect(response.status).toBe(404);
  });

  it('lists machines with their states only', async () => {
    const machines = await get<Answer[]>('/api/machines');
    expect(machines).toHaveLength(12);
    for (const machine of machines) expect(keysOf(machine)).toEqual(MACHINE_KEYS);
  });

  it('shows work centres without a mapped machine', async () => {
    const places = await eventually('the work centre is listed', async () => {
      const unmapped = await get<Answer[]>('/api/equipment/unmapped');
      return unmapped.length > 0 && unmapped;
    });
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

  describe('searches outcomes, newest first', () => {
    interface Found {
      outcomes: (Answer & { type: string; publishedAt: number; source: Answer })[];
      cut: string | null;
    }
    const search = (query: string): Promise<Found> => get<Found>(`/api/outcomes?${query}`);
    const sendList = (messageId: string, workingOrders: string[]): Promise<void> =>
      plant.kafka.sendJson(
        TOPICS.workOrderLists,
        'M-003',
        { machineId: 'M-003', workingOrders },
        { 'message-id': messageId },
      );

    beforeAll(async () => {
      for (const [messageId, orders] of [
        ['history-1', ['H-1', 'H-2']],
        ['history-2', ['H-2-0010']],
        ['history-3', ['H-22']],
      ] as const) {
        await sendList(messageId, [...orders]);
        await plant.sandbox.listBecomes('M-003', orders);
      }
      await eventually(
        'three outcomes are published',
        async () => (await search('machineId=M-003')).outcomes.length === 3,
      );
    });

    const idsOf = ({ outcomes }: Found): unknown[] =>
      outcomes.map(({ source }) => source['messageId']);

    it('by machine, message and order, with or without operations in the list', async () => {
      const ofMachine = await search('machineId=M-003');
      expect(idsOf(ofMachine)).toEqual(['history-3', 'history-2', 'history-1']);
      expect(ofMachine.cut).toBeNull();
      expect(keysOf(ofMachine.outcomes[0])).toEqual(
        [...OUTCOME_KEYS, 'publishedAt', 'workingOrders'].sort(),
      );
      expect(idsOf(await search('messageId=history-2'))).toEqual(['history-2']);
      expect(idsOf(await search('orderId=H-2'))).toEqual(['history-2', 'history-1']);
      expect(idsOf(await search('orderId=H-2&messageId=history-1'))).toEqual(['history-1']);
      expect(await search('orderId=H-9')).toEqual({ outcomes: [], cut: null });
      const ofOrder = await eventually('the order has an outcome', async () => {
        const found = await search('orderId=A-1');
        return found.outcomes.length > 0 && found;
      });
      expect(ofOrder.outcomes).toMatchObject([{ orderId: 'A-1', code: 'unmapped-work-centre' }]);
    });

    it('up to a limit, since a time, and reports when there may be more', async () => {
      const newest = await search('machineId=M-003&limit=2');
      expect(idsOf(newest)).toEqual(['history-3', 'history-2']);
      expect(newest.cut).toBe('only the newest 2');
      const { publishedAt } = newest.outcomes[0] ?? { publishedAt: 0 };
      expect(await search(`machineId=M-003&since=${publishedAt + 60}`)).toEqual({
        outcomes: [],
        cut: null,
      });
      expect(idsOf(await search(`machineId=M-003&since=${publishedAt - 600}`))).toHaveLength(3);
      // as typed by a user: a plus is a blank in a query
      expect(idsOf(await search('machineId=M-003&since=2026-01-01T01:00:00+01:00'))).toHaveLength(
        3,
      );
    });

    it.each([
      ['', 'ask for messageId, orderId or machineId'],
      ['machineId=a&machineId=b', 'machineId may be given once only'],
      ['machineId=a&limit=0', 'limit must lie between 1 and 1000'],
      ['machineId=a&limit=0x10', 'limit must lie between 1 and 1000'],
      ['machineId=a&limit=1e2', 'limit must lie between 1 and 1000'],
      ['machineId=a&since=noon', expect.stringMatching(/^since /) as string],
    ])('but refuses %p', async (query, message) => {
      const response = await fetch(`${plant.bridgeUrl}/api/outcomes?${query}`);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ message });
    });

    it('one at a time', async () => {
      const statusOf = async (): Promise<number> =>
        (await fetch(`${plant.bridgeUrl}/api/outcomes?machineId=M-003`)).status;
      await eventually('searches meet', async () => {
        const statuses = await Promise.all([1, 2, 3].map(statusOf));
        expect(statuses.filter((status) => status !== 503)).toContain(200);
        return statuses.includes(503);
      });
    });

    it('for the command too', async () => {
      const run = (...args: string[]): Promise<CommandResult> =>
        runCommand(['outcomes', ...args, '--bridge', plant.bridgeUrl], {
          topicPrefix: plant.kafka.topicPrefix,
        });
      const shown = await run('--order', 'H-2', '--limit', '1');
      expect(shown).toMatchObject({
        exitCode: 0,
        stdout: expect.stringMatching(
          /work-order-list\.applied\.v1 +M-003 +- +history-2/,
        ) as string,
        stderr: 'there may be more: only the newest 1\n',
      });
      const { stdout } = await run('--message', 'history-1', '--json');
      expect(JSON.parse(stdout)).toMatchObject({
        machineId: 'M-003',
        workingOrders: ['H-1', 'H-2'],
      });
      expect((await run('--limit', '5')).exitCode).toBe(64);
    });
  });
});
