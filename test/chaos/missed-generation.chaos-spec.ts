import { realEpochMs } from '#libs/clock';
import { TOPICS } from '#libs/contracts';
import { AppProcess } from '../support/app-process.js';
import { Answers } from '../support/chaos/answers.js';
import { bridgeEnvironment } from '../support/bridge-environment.js';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { eventually } from '../support/eventually.js';
import { KafkaRelay } from '../support/kafka-relay.js';
import { testBrokers } from '../support/kafka.js';

const PARTITIONS = 6;
/** The API key of SyncGroup, which follows the length of the request. */
const SYNC_GROUP = 14;
const isSyncGroup = (request: Buffer): boolean => request.readInt16BE(4) === SYNC_GROUP;

describe('a bridge that is delayed between joining the group and its assignment', () => {
  let plant: ChaosPlant;
  let relay: KafkaRelay;
  let held: AppProcess;
  let answers: Answers;
  const startSeconds = Math.floor(realEpochMs() / 1000);

  beforeAll(async () => {
    const env = { BRIDGE_FLOWS: 'work-orders' };
    plant = await ChaosPlant.open({ machines: 24, partitions: PARTITIONS, env });
    answers = new Answers(await plant.kafka.read(TOPICS.commandOutcomes));
    relay = await KafkaRelay.to(testBrokers()[0]!);
    await plant.startBridge().ready();
    const { topicPrefix } = plant.kafka;
    const sandboxUrl = plant.sandbox.url;
    const brokers = [relay.address];
    const surroundings = { brokers, topicPrefix, partitions: PARTITIONS, sandboxUrl };
    held = new AppProcess('bridge', { ...bridgeEnvironment(surroundings), ...env });
    await held.ready();
    await plant.untilShared(2);
  });

  afterAll(async () => {
    await held.close();
    await plant.close();
    await relay.close();
  });

  /** Sends each machine its own list, issued `secondsAgo`; returns the ids of the messages. */
  const send = async (name: string, secondsAgo: number): Promise<string[]> => {
    const messages = plant.load.machineIds.map((machineId) => ({
      key: machineId,
      value: JSON.stringify({
        machineId,
        workingOrders: [name],
        issuedAt: startSeconds - secondsAgo,
      }),
      headers: { 'message-id': `${name} ${machineId}` },
    }));
    await plant.kafka.send(TOPICS.workOrderLists, ...messages);
    return messages.map(({ headers }) => headers['message-id']);
  };

  it('respects the work that others did on its partitions in a generation that it missed', async () => {
    await answers.untilAll(await send('first', 300));
    relay.holdBack(isSyncGroup);
    const third = plant.startBridge();
    await eventually('the one has joined and is held up', () => relay.heldBack > 0);
    const newest = await send('newest', 10);
    // The delayed bridge has two of the six partitions, and had three before.
    await eventually(
      'the others work',
      () => answers.unanswered(newest).length < newest.length / 2,
    );
    third.kill('SIGTERM');
    expect(await third.exitCode()).toBe(0);
    relay.release();
    await plant.untilShared(2);
    await answers.untilAll(newest);

    const late = await send('late', 100);
    await answers.untilAll(late);
    for (const [index, machineId] of plant.load.machineIds.entries()) {
      const type = 'work-order-list.superseded.v1';
      expect(answers.finalOf(late[index]!)).toEqual([{ type, machineId }]);
    }
    const usable = new Set(plant.load.machineIds);
    for (const { machineId, workingOrders } of await plant.sandbox.machines()) {
      if (usable.has(machineId)) expect(workingOrders).toEqual(['newest']);
    }
    expect(answers.contradictions()).toEqual([]);
  });
});
