import { TOPICS } from '#libs/contracts';
import type { AppProcess } from '../support/app-process.js';
import { healthOf } from '../support/health.js';
import { eventually } from '../support/eventually.js';
import { testBrokers } from '../support/kafka.js';
import { type Plant, startPlant } from '../support/plant.js';
import { foldStates } from '../support/states/fold-states.js';
import { readStateStream } from '../support/states/state-stream.js';
import { StatesPlant } from '../support/states/states-plant.js';
import { numberingFaults } from '../support/states/stream-faults.js';
import { truthOf, untruth } from '../support/states/truth-of.js';

const MEMORY = 'machine-bridge.machine-states.v1';
const MACHINES = 40;
const MINUTE = 60;
const SETTLE_MINUTES = 10;

describe('machines in the state of two processes', () => {
  let plant: StatesPlant;
  let bridges: AppProcess[];

  beforeAll(async () => {
    plant = await StatesPlant.open({
      brokers: testBrokers(),
      machines: MACHINES,
      clockSpeed: 60,
      partitions: 3,
      env: { SETTLE_SECONDS: String(SETTLE_MINUTES * MINUTE) },
    });
  });

  afterAll(() => plant.close());

  const startTwo = async (): Promise<void> => {
    bridges = [plant.startBridge(), plant.startBridge()];
    await plant.untilShared(2);
    await plant.untilAllAnswered();
  };

  const stopBoth = async (): Promise<void> => {
    for (const bridge of bridges) bridge.kill('SIGTERM');
    for (const bridge of bridges) expect(await bridge.exitCode()).toBe(0);
  };

  const untilAllPublished = async (): Promise<void> => {
    const published = await plant.kafka.read(TOPICS.states);
    await eventually(
      'the state of each machine is published',
      () => new Set(published.records.map(({ key }) => String(key))).size === MACHINES,
    );
  };

  /** Waits until one of the two processes owns each of the partitions. */
  const untilWatched = async (partitions: number[]): Promise<void> => {
    await eventually(`machines of partitions ${partitions.join()} are watched`, () =>
      partitions.every((partition) =>
        bridges.some(({ output }) =>
          new RegExp(`watching machines.*"partition":${partition}\\b`).test(output),
        ),
      ),
    );
  };

  it('keep one history each when the topic gets more partitions between runs and during a kill', async () => {
    await startTwo();
    await untilAllPublished();
    const watchedSince = plant.clock.nowSeconds();
    await stopBoth();
    await plant.kafka.topics.growToPartitions(MEMORY, 6);
    await startTwo();
    await untilWatched([0, 1, 2, 3, 4, 5]);
    // keys also move between existing partitions
    await plant.kafka.topics.growToPartitions(MEMORY, 8);
    bridges[0]?.kill('SIGKILL');
    bridges[0] = plant.startBridge();
    await untilWatched([6, 7]);
    await plant.untilAllAnswered();
    const until = plant.clock.nowSeconds();
    await plant.clock.sleepSeconds((SETTLE_MINUTES + 5) * MINUTE);
    await stopBoth();

    const { events } = await readStateStream(plant.kafka, plant.partitions);
    const machineIds = plant.life.machineIds('ordinary', 'hasty', 'steady', 'interrupted');
    const faults: string[] = [];
    for (const machineId of machineIds) {
      const published = events.get(machineId) ?? [];
      faults.push(...numberingFaults(machineId, published));
      const truth = await truthOf(plant.sandbox, machineId, watchedSince - 3 * 3600, until);
      faults.push(untruth(machineId, truth, foldStates(published), watchedSince) ?? '');
    }
    expect(faults.filter((fault) => fault !== '')).toEqual([]);
  });
});

describe('the order ledger', () => {
  let plant: Plant;

  beforeEach(async () => {
    plant = await startPlant();
  });

  afterEach(() => plant.close());

  it.each(['machine-bridge.relayed-orders.v1', 'machine-bridge.assignment-changes.v1'])(
    'reports it and keeps no order twice when %s gets more partitions',
    async (topic) => {
      await plant.kafka.send(TOPICS.workOrders, {
        key: '4711',
        value: JSON.stringify({
          orderId: '4711',
          changedAt: plant.clock.nowSeconds(),
          status: 'released',
          operations: [{ operationId: '0010', machineId: 'M-001', status: 'released' }],
        }),
      });
      await plant.sandbox.listBecomes('M-001', ['4711']);
      await plant.kafka.topics.growToPartitions(topic, 6);
      const wanted = `${topic} has 6 partitions and had 3`;
      await eventually('the bridge says that it cannot go on', async () =>
        (await healthOf(plant.bridgeUrl)).problems['kafka']?.includes(wanted),
      );
    },
  );
});
