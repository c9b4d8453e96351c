import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TOPICS } from '#libs/contracts';
import { eventually } from '../support/eventually.js';
import { type Plant, startPlant } from '../support/plant.js';
import { type CommandResult, runCommand } from '../support/run-command.js';
import { temporaryFolder } from '../../libs/config/test/temporary-files.js';
import { header, json, type ReadRecord, type TopicReader } from '../support/topic-reader.js';

const DEAD_LETTERS = `${TOPICS.workOrders}.dlq`;

/** The fields that UMH sends for each action, besides the order's id. */
const FIELDS = {
  create: { product: { external_product_id: '5678' }, quantity: 100 },
  start: { start_time_unix_ms: 1_719_931_704_927 },
  stop: { end_time_unix_ms: 1_719_935_304_927 },
};

interface WorkOrder {
  action: keyof typeof FIELDS;
  orderId: string;
  cell: string;
  /** The record's timestamp, in seconds after the start of the test. */
  at: number;
  status?: number;
}

describe('work orders of UMH', () => {
  let plant: Plant;
  let answers: TopicReader;
  const mapFile = join(temporaryFolder(), 'map.csv');
  let begin: number;

  /** Replaces the map in one step, so that the bridge reads a whole one. */
  const writeMap = async (machines: Record<string, string>): Promise<void> => {
    const lines = Object.entries(machines).map(
      ([cell, machineId]) => `north,hall-3.line-1.${cell},${machineId}\n`,
    );
    await writeFile(`${mapFile}.new`, `plant,workCentre,machineId\n${lines.join('')}`);
    await rename(`${mapFile}.new`, mapFile);
  };

  beforeAll(async () => {
    await writeMap({ 'cell-1': 'M-001' });
    plant = await startPlant({ env: { EQUIPMENT_MAP_FILE: mapFile } });
    answers = await plant.kafka.read(TOPICS.commandOutcomes, DEAD_LETTERS);
    begin = plant.clock.nowSeconds();
  });

  afterAll(() => plant.close());

  const send = ({ action, orderId, cell, at, status }: WorkOrder): Promise<void> => {
    const fields = { external_work_order_id: orderId, ...FIELDS[action] };
    return plant.kafka.send(TOPICS.workOrders, {
      key: orderId,
      value: JSON.stringify(status === undefined ? fields : { ...fields, status }),
      timestamp: String((begin + at) * 1000),
      headers: {
        umh_topic: `umh.v1.acme.north.hall-3.line-1.${cell}._analytics.work-order.${action}`,
        'message-id': `${orderId}/${action}`,
      },
    });
  };

  const outcomeOf = (orderId: string, action: string, type: string): Promise<ReadRecord> =>
    answers.outcomeOf(`${orderId}/${action}`, `work-order-list.${type}.v1`);

  const replay = (): Promise<CommandResult> =>
    runCommand(
      ['dlq', 'replay', TOPICS.workOrders, '--code', 'unmapped-work-centre', '--yes'],
      plant.kafka,
    );

  it('are on no list when created, and on their machine’s list from start to stop', async () => {
    const order = { orderId: 'A', cell: 'cell-1' };
    await send({ ...order, action: 'create', at: 0 });
    const created = await outcomeOf('A', 'create', 'applied');
    expect(header(created, 'ce_subject')).toBe('M-001');
    expect((await plant.sandbox.machine('M-001')).workingOrders).toEqual([]);
    await send({ ...order, action: 'start', at: 1 });
    await plant.sandbox.listBecomes('M-001', ['A']);
    await send({ ...order, action: 'stop', at: 2 });
    await plant.sandbox.listBecomes('M-001', []);
  });

  it('are replayed once their place is mapped, and do not override a later stop', async () => {
    await send({ orderId: 'B', cell: 'cell-2', action: 'start', at: 0 });
    await send({ orderId: 'C', cell: 'cell-2', action: 'create', status: 1, at: 0 });
    await send({ orderId: 'C', cell: 'cell-2', action: 'stop', at: 1 });
    await outcomeOf('C', 'stop', 'applied');
    await answers.findAtLeast(2, 'dead letter', ({ topic }) => topic === DEAD_LETTERS);

    const unmapped = async (): Promise<string> =>
      (await fetch(`${plant.bridgeUrl}/api/equipment/unmapped`)).text();
    expect(JSON.parse(await unmapped())).toMatchObject([
      { workCentre: 'hall-3.line-1.cell-2', operations: 2 },
    ]);
    await writeMap({ 'cell-1': 'M-001', 'cell-2': 'M-002' });
    await eventually('the bridge goes by the new map', async () => (await unmapped()) === '[]');
    expect(await replay()).toMatchObject({ exitCode: 0, stdout: 'replayed 2 dead letters\n' });

    const late = await outcomeOf('C', 'create', 'superseded');
    expect(json(late)).toMatchObject({
      machineId: 'M-002',
      detail: `order C changed at ${begin}; known is the change of ${begin + 1}`,
    });
    await plant.sandbox.listBecomes('M-002', ['B']);
    await send({ orderId: 'B', cell: 'cell-2', action: 'stop', at: 1 });
    await plant.sandbox.listBecomes('M-002', []);
  });
});
