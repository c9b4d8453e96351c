import { TOPICS } from '#libs/contracts';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { eventually } from '../support/eventually.js';
import { header, json, type ReadRecord, type TopicReader } from '../support/topic-reader.js';

const CHANGES = 'machine-bridge.assignment-changes.v1';
const SET_LIST = 'setWorkOrderList';
/** Excludes one machine that the order does not name. */
const MACHINES = 10;

describe('an order on several machines, one of them stuck, whose bridge is killed', () => {
  let plant: ChaosPlant;
  let outcomes: TopicReader;
  let stuck: string;
  let others: string[];
  let bystander: string;

  /** The final outcomes, sorted by machine. */
  const published = (): string[] =>
    outcomes.records
      .map((record) => ({ type: header(record, 'ce_type'), machineId: json(record)['machineId'] }))
      .filter(({ type, machineId }) => !type?.includes('deferred') && machineId !== bystander)
      .map(({ type, machineId }) => `${String(machineId)} ${type}`)
      .sort();

  const appliedTo = (machineIds: readonly string[]): string[] =>
    machineIds.map((machineId) => `${machineId} work-order-list.applied.v1`).sort();

  beforeEach(async () => {
    plant = await ChaosPlant.open({
      ...{ machines: MACHINES + 1, partitions: 1 },
      env: { BRIDGE_FLOWS: 'work-orders', WORK_ORDER_LIST_MAX_MACHINES: '1' },
    });
    const { load, kafka, sandbox } = plant;
    [stuck, others] = [load.machineIds[0]!, load.machineIds.slice(1, MACHINES)];
    bystander = load.machineIds[MACHINES]!;
    outcomes = await kafka.read(TOPICS.commandOutcomes);
    await sandbox.addFault({ operation: SET_LIST, machineId: stuck, status: 503 });
  });

  afterEach(() => plant.close());

  const atOnce = (): Promise<void> => Promise.resolve();

  const sendOrder = (orderId: string, machineIds: readonly string[]): Promise<void> => {
    const operations = machineIds.map((machineId, index) => {
      return { operationId: String(1000 + index), machineId };
    });
    const order = { orderId, changedAt: 100, status: 'released', operations };
    return plant.kafka.sendJson(TOPICS.workOrders, orderId, order);
  };

  /** Commits later messages several times meanwhile. */
  const untilNoted = async (): Promise<void> => {
    for (let number = 0; number < 5; number += 1) {
      await sendOrder(`B-${number}`, [bystander]);
      const isIts = (record: ReadRecord): boolean => json(record)['machineId'] === bystander;
      await outcomes.findAtLeast(number + 1, 'outcome of what comes behind', isIts);
    }
  };

  it.each([
    ['at once', atOnce],
    ['once its progress is committed', untilNoted],
  ])(
    'is published once per machine, %s, although the service would now refuse the others',
    async (_, untilKilled) => {
      const { kafka, sandbox } = plant;
      const bridge = plant.startBridge();
      await plant.untilShared(1);
      await sendOrder('A', [stuck, ...others]);
      await eventually('the others are published', () => published().length === others.length);
      await untilKilled();
      bridge.kill('SIGKILL');
      await bridge.exitCode();
      await sandbox.clearFaults();
      for (const machineId of others) {
        await sandbox.addFault({ operation: SET_LIST, machineId, status: 422 });
      }
      plant.startBridge();
      await plant.untilShared(1);
      await sandbox.listBecomes(stuck, ['A']);
      await kafka.groups.untilAllCommitted(plant.groupId, CHANGES);
      await eventually('all are published', () => published().length > others.length);
      expect(published()).toEqual(appliedTo([stuck, ...others]));
      expect(await kafka.topics.count(`${TOPICS.workOrders}.dlq`)).toBe(0);
    },
  );
});
