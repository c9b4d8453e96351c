import { TOPICS } from '#libs/contracts';
import { type LocalCluster, startLocalCluster } from '../../tools/kafka/local-kafka.mjs';
import { Answers } from '../support/chaos/answers.js';
import { Chance } from '../support/chaos/chance.js';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { Closers } from '../support/chaos/closers.js';
import { CommandLoad } from '../support/chaos/command-load.js';
import { deliveriesOf } from '../support/chaos/deliveries.js';
import { lostReasons, staleLists } from '../support/chaos/delivery-faults.js';
import { OrderLoad, SEVERAL_ORDERS } from '../support/chaos/order-load.js';
import {
  bugsOf,
  FaultyProcesses,
  happenByChance,
  MINUTES,
  nodeFaults,
  SEED,
  SERVICE_FAULTS,
} from '../support/chaos/faults.js';
import { overlaps } from '../support/chaos/overlaps.js';
import { eventually } from '../support/eventually.js';
import type { LoggedCall } from '../support/sandbox-control.js';
import { temporaryFile, temporaryFolder } from '../../libs/config/test/temporary-files.js';

const NODES = 3;
const MOST_BRIDGES = 3;
/** A resumed process sends the requests that were pending at its suspension within this time. */
const WAKING_MS = 1000;

describe(`invariants under any failure (seed ${SEED}, ${MINUTES} minutes)`, () => {
  const chance = new Chance(SEED);
  /** Sequence numbers of the latest calls before suspended processes were resumed. */
  const wakings: number[] = [];
  const closers = new Closers();
  let cluster: LocalCluster;
  let plant: ChaosPlant;
  let commands: CommandLoad;
  let orders: OrderLoad;
  let answers: Answers;
  let calls: LoggedCall[];

  beforeAll(
    async () => {
      cluster = await startLocalCluster({ dir: temporaryFolder(), nodes: NODES });
      closers.add(() => cluster.kill());
      plant = await ChaosPlant.open({
        brokers: cluster.brokers.split(','),
        machines: 40,
        partitions: 4,
        env: {
          ERP_MAPPING_FILE: temporaryFile('mapping.json', [SEVERAL_ORDERS]),
          MACHINE_CLOUD_TIMEOUT_MS: '5000',
          WORK_ORDER_LIST_MAX_MACHINES: '7',
        },
      });
      closers.add(() => plant.close());
      const { kafka, sandbox, load } = plant;
      const [first, second] = [await kafka.steadyProducer(), await kafka.steadyProducer()];
      commands = new CommandLoad(first, kafka.topicPrefix, load.machineIds.slice(0, 20));
      orders = new OrderLoad(second, kafka.topicPrefix, load.machineIds.slice(20), 60);
      for (const each of [commands, orders]) closers.add(() => each.stop());
      const bridges = new FaultyProcesses(chance, MOST_BRIDGES, () => plant.startBridge());
      bridges.start();
      await bridges.untilReady();
      commands.start({ perSecond: 20 });
      orders.start({ perSecond: 20 });
      const beforeWaking = async (): Promise<void> => {
        wakings.push(await sandbox.newestCall());
      };
      const serviceFails = (): Promise<void> =>
        sandbox.addFault({ operation: '*', ...chance.pick(SERVICE_FAULTS) });
      const faults = {
        ...bridges.faults(beforeWaking),
        ...nodeFaults(cluster, kafka.topics, chance),
        service: { weight: 6, happen: serviceFails },
      };
      await happenByChance(faults, chance, () => `${bridges.running.size} bridges`);
      await sandbox.clearFaults();
      await Promise.all([commands.stop(), orders.stop()]);
      await bridges.untilReady();
      answers = new Answers(await kafka.read(TOPICS.commandOutcomes));
      await answers.untilAll([...commands.messageIds, ...orders.sent.keys()], 180_000);
      calls = await sandbox.allCalls();
    },
    (MINUTES + 10) * 60_000,
  );

  afterAll(() => closers.closeAll(), 120_000);

  it('no reason is lost, and each machine has its latest list', () => {
    expect(lostReasons(commands.sent('reason'), deliveriesOf('reason', calls))).toEqual([]);
    expect(staleLists(commands.sent('list'), deliveriesOf('list', calls))).toEqual([]);
  });

  it('each machine has the list made of the newest version of each order', async () => {
    await eventually('the lists are those of the newest orders', async () => {
      for (const { machineId, workingOrders } of await plant.sandbox.machines()) {
        const list = orders.lists.get(machineId) ?? workingOrders;
        expect({ machineId, list: workingOrders }).toEqual({ machineId, list });
      }
      return true;
    });
  });

  it('each message has one final outcome for each order and machine that it names', async () => {
    await eventually('all outcomes', () => {
      for (const [messageId, machineIds] of orders.sent) {
        const answered = answers.finalOf(messageId).map(({ machineId }) => machineId);
        const unanswered = machineIds.filter((machineId) => !answered.includes(machineId));
        expect({ messageId, unanswered }).toEqual({ messageId, unanswered: [] });
      }
      return true;
    });
    expect(answers.repetitions()).toEqual([]);
  });

  it('no two calls for one machine and operation overlap, except those of a resumed process', () => {
    const wokenMs = wakings.map((sequence) => calls[sequence]?.startedAtMs ?? Infinity);
    const isWaking = ({ startedAtMs: ms }: LoggedCall): boolean =>
      wokenMs.some((since) => ms >= since && ms < since + WAKING_MS);
    expect(overlaps(calls.filter((call) => !isWaking(call)))).toEqual([]);
  });

  it('nothing is rejected', async () => {
    expect(await plant.countDeadLetters()).toBe(0);
    expect(await plant.kafka.topics.count(`${TOPICS.workOrders}.dlq`)).toBe(0);
  });

  it('no bridge logs a bug', () => {
    expect(bugsOf(plant.bridges)).toEqual([]);
  });
});
