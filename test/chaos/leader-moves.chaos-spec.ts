import { TOPICS } from '#libs/contracts';
import { type LocalCluster, startLocalCluster } from '../../tools/kafka/local-kafka.mjs';
import type { AppProcess } from '../support/app-process.js';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { eventually } from '../support/eventually.js';
import { temporaryFolder } from '../../libs/config/test/temporary-files.js';

const BROKERS = 2;
/** Longer than a rebalance waits for calls: a rebalance would interrupt this one. */
const CALL_MS = 8000;

describe('a partition that gets another leader during a call', () => {
  let cluster: LocalCluster;
  let plant: ChaosPlant;
  let bridge: AppProcess;

  beforeAll(async () => {
    cluster = await startLocalCluster({ dir: temporaryFolder(), nodes: BROKERS });
    const brokers = cluster.brokers.split(',');
    const env = { MACHINE_CLOUD_TIMEOUT_MS: '60000' };
    plant = await ChaosPlant.open({ brokers, machines: 3, partitions: 1, env });
    bridge = plant.startBridge();
    await bridge.ready();
  });

  afterAll(async () => {
    await plant.close();
    await cluster.kill();
  });

  const setList = (machineId: string, order: string): Promise<void> =>
    plant.kafka.sendList(machineId, [order]);

  it('is still fetched by the same consumer, and the call is made once', async () => {
    await setList('M-001', 'before');
    await plant.sandbox.listBecomes('M-001', ['before']);
    const quietSince = bridge.output.length;
    const since = await plant.sandbox.newestCall();
    await plant.sandbox.addFault({
      operation: 'setWorkOrderList',
      latencyMs: CALL_MS,
      machineId: 'M-001',
      count: 1,
    });
    await setList('M-001', 'meanwhile');
    const calls = (): Promise<number> => plant.sandbox.countCalls('setWorkOrderList', since, 10);
    await eventually('the call is under way', async () => (await calls()) === 1);
    await plant.kafka.topics.moveLeader(TOPICS.workOrderLists);
    await setList('M-002', 'behind');
    await plant.sandbox.listBecomes('M-002', ['behind']);
    await plant.sandbox.listBecomes('M-001', ['meanwhile']);
    const saidSince = (): string => bridge.output.slice(quietSince);
    // The former leader has refused fetches, and the consumer stayed in the group.
    await eventually('it is said', () => saidSince().includes('not the leader'));
    const said = saidSince();
    for (const trouble of ['consumer ended', 'calls cut off']) expect(said).not.toContain(trouble);
    expect(await calls()).toBe(2);
  });
});
