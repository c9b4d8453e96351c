import { TOPICS } from '#libs/contracts';
import { type Plant, startPlant } from '../support/plant.js';
import { header } from '../support/topic-reader.js';

const MACHINES = ['M-001', 'M-002', 'M-003', 'M-004', 'M-005', 'M-006'];

describe('a limit of requests to the service', () => {
  let plant: Plant;

  beforeAll(async () => {
    const env = {
      BRIDGE_FLOWS: 'work-orders',
      MACHINE_CLOUD_MAX_REQUESTS_PER_SECOND: '1',
      WORK_ORDER_LIST_LINGER_MS: '0',
    };
    plant = await startPlant({ env });
  });

  afterAll(() => plant.close());

  it('sends the newest waiting list of all machines in one request when its turn comes', async () => {
    const outcomes = await plant.kafka.read(TOPICS.commandOutcomes);
    const list = (machineId: string, order: string) => ({
      partition: 0,
      key: machineId,
      value: JSON.stringify({ machineId, workingOrders: [order] }),
    });
    const lists = ['old', 'new'].flatMap((order) => MACHINES.map((id) => list(id, order)));
    await plant.kafka.send(TOPICS.workOrderLists, ...lists);
    for (const machineId of MACHINES) await plant.sandbox.listBecomes(machineId, ['new']);
    const ended = await outcomes.findAtLeast(lists.length, 'outcome', () => true);
    const types = ended.map((record) => header(record, 'ce_type'));
    const superseded = types.filter((type) => type === 'work-order-list.superseded.v1');
    // the first list does not wait
    expect(superseded.length).toBeGreaterThanOrEqual(MACHINES.length - 1);
    const requests = await plant.sandbox.calls('setWorkOrderList');
    expect(requests.length).toBeLessThanOrEqual(3);
  });
});
