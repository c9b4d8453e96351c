import { TOPICS } from '#libs/contracts';
import { type LocalCluster, startLocalCluster } from '../../tools/kafka/local-kafka.mjs';
import { Answers } from '../support/chaos/answers.js';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { deliveryFaults } from '../support/chaos/delivery.js';
import { atMostRepeats, type MayRepeat } from '../support/chaos/delivery-faults.js';
import { untilReady } from '../support/health.js';
import { OrderLoad, SEVERAL_ORDERS } from '../support/chaos/order-load.js';
import { overlaps } from '../support/chaos/overlaps.js';
import { untilAllMove } from '../support/chaos/until-called.js';
import { eventually } from '../support/eventually.js';
import { temporaryFile, temporaryFolder } from '../../libs/config/test/temporary-files.js';

const MACHINES = 30;
const ORDERS = 60;
const PER_SECOND = 40;
const BROKERS = 3;
/** The ways in which two of the brokers end, one after the other. */
const ENDS = ['stop', 'kill'] as const;

describe('brokers that stop and restart one after the other under a stream of commands and orders', () => {
  let cluster: LocalCluster;
  let commands: ChaosPlant;
  let orders: ChaosPlant;
  let load: OrderLoad;
  let answers: { commands: Answers; orders: Answers };

  beforeAll(async () => {
    const mapping = temporaryFile('mapping.json', [SEVERAL_ORDERS]);
    cluster = await startLocalCluster({ dir: temporaryFolder(), nodes: BROKERS });
    const brokers = cluster.brokers.split(',');
    commands = await ChaosPlant.open({ brokers, machines: MACHINES });
    orders = await ChaosPlant.open({
      brokers,
      machines: MACHINES,
      env: { BRIDGE_FLOWS: 'work-orders', ERP_MAPPING_FILE: mapping },
    });
    const { kafka } = orders;
    const { machineIds } = orders.load;
    load = new OrderLoad(await kafka.steadyProducer(), kafka.topicPrefix, machineIds, ORDERS);
    const urls = await Promise.all([commands.startBridge().ready(), orders.startBridge().ready()]);
    commands.load.start({ perSecond: PER_SECOND });
    load.start({ perSecond: PER_SECOND });
    for (const [at, end] of ENDS.entries()) {
      await cluster.nodes[at]![end]();
      await untilAllMove(commands);
      await cluster.nodes[at]!.restart();
      await kafka.topics.untilInSync(BROKERS);
      await Promise.all(urls.map((url) => untilReady(url)));
      await untilAllMove(commands);
    }
    await Promise.all([commands.load.stop(), load.stop()]);
    answers = {
      commands: new Answers(await commands.kafka.read(TOPICS.commandOutcomes)),
      orders: new Answers(await kafka.read(TOPICS.commandOutcomes)),
    };
    await answers.commands.untilAll(commands.load.messageIds);
    await answers.orders.untilAll([...load.sent.keys()]);
  });

  afterAll(async () => {
    await load.stop();
    await Promise.all([commands.close(), orders.close()]);
    await cluster.kill();
  });

  it('cost no command and no order of commands', async () => {
    const mayRepeat = (): MayRepeat => atMostRepeats(ENDS.length);
    const calls = await commands.sandbox.allCalls();
    expect(deliveryFaults(commands.load, calls, { mayRepeat })).toEqual([]);
  });

  it('leave every machine with the list made of the newest version of each order', async () => {
    await eventually('the lists are those of the newest orders', async () => {
      for (const { machineId, workingOrders } of await orders.sandbox.machines()) {
        const list = load.lists.get(machineId) ?? workingOrders;
        expect({ machineId, list: workingOrders }).toEqual({ machineId, list });
      }
      return true;
    });
  });

  it('never make a bridge run two calls for one machine and operation at once', async () => {
    for (const { sandbox } of [commands, orders]) {
      expect(overlaps(await sandbox.allCalls())).toEqual([]);
    }
  });

  it('never give a message two different outcomes', () => {
    expect(answers.commands.contradictions()).toEqual([]);
    expect(answers.orders.contradictions()).toEqual([]);
  });

  it('cause no dead letter', async () => {
    expect(await commands.countDeadLetters()).toBe(0);
    expect(await orders.kafka.topics.count(`${TOPICS.workOrders}.dlq`)).toBe(0);
  });
});
