import { TOPICS } from '#libs/contracts';
import { eventually } from '../support/eventually.js';
import { type Plant, startPlant } from '../support/plant.js';
import type { LoggedCall } from '../support/sandbox-control.js';
import { header, type TopicReader } from '../support/topic-reader.js';

describe('waiting lists', () => {
  let plant: Plant;
  let answers: TopicReader;

  beforeAll(async () => {
    plant = await startPlant({
      sandboxEnv: { SANDBOX_MACHINES: '20' },
      env: { WORK_ORDER_LIST_MAX_MACHINES: '20', WORK_ORDER_LIST_LINGER_MS: '200' },
    });
    answers = await plant.kafka.read(TOPICS.commandOutcomes);
  });

  afterEach(() => plant.sandbox.clearFaults());
  afterAll(() => plant.close());

  const machine = (number: number): string => `M-${String(number).padStart(3, '0')}`;

  const sendLists = (...lists: [machineId: string, order: string][]): Promise<void> =>
    plant.kafka.send(
      TOPICS.workOrderLists,
      ...lists.map(([machineId, order]) => ({
        key: machineId,
        value: JSON.stringify({ machineId, workingOrders: [order] }),
      })),
    );

  const callsWith = async (order: string): Promise<LoggedCall[]> =>
    (await plant.sandbox.calls('setWorkOrderList')).filter(({ body }) =>
      JSON.stringify(body).includes(`"${order}"`),
    );

  it('share a call up to its maximum number of machines', async () => {
    const machines = Array.from({ length: 20 }, (_, index) => machine(index + 1));
    await sendLists(...machines.map((machineId): [string, string] => [machineId, 'together']));
    for (const machineId of machines) await plant.sandbox.listBecomes(machineId, ['together']);
    const calls = await callsWith('together');
    // they may arrive in several fetches, each with its own calls
    expect(calls.length).toBeLessThan(machines.length / 2);
    expect(Math.max(...calls.map(({ machineIds }) => machineIds.length))).toBeLessThanOrEqual(20);
  });

  it('are superseded by a newer one of their machine, which alone is sent', async () => {
    await plant.sandbox.addFault({ operation: 'setWorkOrderList', latencyMs: 1000, count: 1 });
    await sendLists([machine(1), 'first']);
    await eventually(
      'the first list is under way',
      async () => (await callsWith('first')).length === 1,
    );
    const newer = Array.from({ length: 20 }, (_, index) => `newer-${index}`);
    await sendLists(...newer.map((order): [string, string] => [machine(1), order]));
    await plant.sandbox.listBecomes(machine(1), ['newer-19']);
    const superseded = await answers.findAtLeast(
      19,
      'superseded list',
      (record) => header(record, 'ce_type') === 'work-order-list.superseded.v1',
    );
    expect(superseded).toHaveLength(19);
    expect(await callsWith('newer-18')).toEqual([]);
  });
});
