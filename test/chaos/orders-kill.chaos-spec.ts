import { TOPICS } from '#libs/contracts';
import type { AppProcess } from '../support/app-process.js';
import { Answers } from '../support/chaos/answers.js';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { OrderLoad, SEVERAL_ORDERS } from '../support/chaos/order-load.js';
import { overlaps } from '../support/chaos/overlaps.js';
import { eventually } from '../support/eventually.js';
import type { LoggedCall } from '../support/sandbox-control.js';
import { temporaryFile } from '../../libs/config/test/temporary-files.js';

const MACHINES = 30;
const ORDERS = 120;
/** The number of list calls between two kills. */
const CALLS_BEFORE_KILL = [40, 3, 150, 1, 80];
const LATENCY_MS = 40;

describe('orders that move between machines while one of two bridges is killed again and again', () => {
  let plant: ChaosPlant;
  let load: OrderLoad;
  let answers: Answers;
  let calls: LoggedCall[];

  const untilCalled = async (times: number, since: number): Promise<void> => {
    const { sandbox } = plant;
    await eventually(
      `${times} calls for lists`,
      async () => (await sandbox.countCalls('setWorkOrderList', since, times)) === times,
    );
  };

  beforeAll(async () => {
    plant = await ChaosPlant.open({
      machines: MACHINES,
      env: {
        BRIDGE_FLOWS: 'work-orders',
        WORK_ORDER_LIST_MAX_MACHINES: '3',
        ERP_MAPPING_FILE: temporaryFile('mapping.json', [SEVERAL_ORDERS]),
      },
    });
    const { kafka, sandbox } = plant;
    const { machineIds } = plant.load;
    load = new OrderLoad(await kafka.steadyProducer(), kafka.topicPrefix, machineIds, ORDERS);
    await sandbox.addFault({ operation: 'setWorkOrderList', latencyMs: LATENCY_MS });
    load.start({ perSecond: 60 });
    const bridges: AppProcess[] = [plant.startBridge(), plant.startBridge()];
    for (const times of CALLS_BEFORE_KILL) {
      await plant.untilShared(2);
      await untilCalled(times, await sandbox.newestCall());
      const oldest = bridges.shift();
      oldest?.kill('SIGKILL');
      await oldest?.exitCode();
      bridges.push(plant.startBridge());
    }
    await plant.untilShared(2);
    await untilCalled(30, await sandbox.newestCall());
    await load.stop();
    answers = new Answers(await kafka.read(TOPICS.commandOutcomes));
    await answers.untilAll([...load.sent.keys()]);
    calls = await sandbox.allCalls();
  });

  afterAll(async () => {
    await load.stop();
    await plant.close();
  });

  it('leaves every machine with the list made of the newest version of each order', async () => {
    const { sandbox } = plant;
    await eventually('the lists are those of the newest orders', async () => {
      const { lists } = load;
      const machines = await sandbox.machines();
      const wrong = machines.filter(
        ({ machineId, workingOrders }) =>
          lists.has(machineId) && lists.get(machineId)?.join() !== workingOrders.join(),
      );
      for (const { machineId, workingOrders } of wrong) {
        throw new Error(
          `${machineId}: ${workingOrders.join()} for ${lists.get(machineId)?.join()}`,
        );
      }
      return true;
    });
  });

  it('gives each message a final outcome for each of its machines', async () => {
    await eventually('all outcomes', () => {
      for (const [messageId, machineIds] of load.sent) {
        const answered = new Set(answers.finalOf(messageId).map(({ machineId }) => machineId));
        const missing = machineIds.filter((machineId) => !answered.has(machineId));
        if (missing.length > 0) throw new Error(`${messageId} for ${missing.join()}`);
      }
      return true;
    });
  });

  it('repeats an outcome of a message only unchanged', () => {
    expect(answers.contradictions()).toEqual([]);
  });

  it('never runs two calls for one machine at once', () => {
    expect(overlaps(calls.filter(({ operation }) => operation === 'setWorkOrderList'))).toEqual([]);
  });

  it('writes no dead letter', async () => {
    expect(await plant.kafka.topics.count(`${TOPICS.workOrders}.dlq`)).toBe(0);
  });
});
