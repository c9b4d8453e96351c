import { deadLetterTopic, TOPICS } from '#libs/contracts';
import { type LocalCluster, startLocalCluster } from '../../tools/kafka/local-kafka.mjs';
import type { AppProcess } from '../support/app-process.js';
import { Answers } from '../support/chaos/answers.js';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { untilUnreadyBecause } from '../support/health.js';
import type { PartitionedProducer } from '../support/partitioned-producer.js';
import { runCommand } from '../support/run-command.js';
import { temporaryFolder } from '../../libs/config/test/temporary-files.js';

const BROKERS = 3;
const LOST = 3;
const MACHINES = 6;
const DEAD_LETTERS = deadLetterTopic(TOPICS.workOrderLists);
const TIMES = { startTime: 1_760_000_000, endTime: 1_760_000_600 };

describe('partitions whose only broker stops', () => {
  let cluster: LocalCluster;
  let plant: ChaosPlant;
  let bridge: AppProcess;
  let answers: Answers;
  const producers = new Map<string, PartitionedProducer>();
  /** The message that waits for its dead letter, by its id. */
  const malformed: string[] = [];

  beforeAll(async () => {
    cluster = await startLocalCluster({ dir: temporaryFolder(), nodes: BROKERS });
    plant = await ChaosPlant.open({
      brokers: cluster.brokers.split(','),
      machines: MACHINES,
      partitions: 2,
      placed: {
        [TOPICS.downtimeReasons]: [[1], [LOST]],
        [DEAD_LETTERS]: [[LOST], [LOST]],
      },
    });
    bridge = plant.startBridge();
    await bridge.ready();
    // The published kafkajs sends to no topic while another topic that it knows has a partition without a leader.
    for (const topic of [TOPICS.workOrderLists, TOPICS.downtimeReasons])
      producers.set(topic, await plant.kafka.steadyProducer());
    answers = new Answers(await plant.kafka.read(TOPICS.commandOutcomes));
    await sendList(0, 'M-001', 'list 0');
    await sendList(1, 'M-002', 'list 1');
    await sendReason(0, 'M-001', 'reason 0');
    await sendReason(1, 'M-002', 'reason 1');
    await answers.untilAll(['list 0', 'list 1', 'reason 0', 'reason 1']);
    await cluster.nodes[LOST - 1]!.kill();
  });

  afterAll(async () => {
    await plant.close();
    await cluster.kill();
  });

  const send = (topic: string, partition: number, messageId: string, body: object): Promise<void> =>
    producers.get(topic)!.send({
      topic: `${plant.kafka.topicPrefix}${topic}`,
      messages: [{ partition, value: JSON.stringify(body), headers: { 'message-id': messageId } }],
    });
  const sendList = (partition: number, machineId: string, messageId: string): Promise<void> =>
    send(TOPICS.workOrderLists, partition, messageId, { machineId, workingOrders: [messageId] });
  const sendReason = (partition: number, machineId: string, messageId: string): Promise<void> =>
    send(TOPICS.downtimeReasons, partition, messageId, { machineId, reasonId: '11', ...TIMES });
  const sendMalformed = async (messageId: string): Promise<void> => {
    await send(TOPICS.workOrderLists, 1, messageId, {});
    malformed.push(messageId);
  };

  it('delay nothing else', async () => {
    await sendList(0, 'M-001', 'list 0a');
    await sendList(1, 'M-002', 'list 1a');
    await answers.untilAll(['list 0a', 'list 1a']);
    const topic = `${plant.kafka.topicPrefix}${TOPICS.downtimeReasons}`;
    await untilUnreadyBecause(await bridge.url(), `a partition of ${topic} has no leader`);
  });

  it('delay only the partition that has a message for them', async () => {
    await sendMalformed('malformed');
    await sendList(0, 'M-001', 'list 0b');
    await answers.untilAll(['list 0b']);
    expect(answers.unanswered(malformed)).toEqual(['malformed']);
  });

  it('are not treated as empty by a command that reads the topic', async () => {
    const { topicPrefix } = plant.kafka;
    const { exitCode, stdout, stderr } = await runCommand(['dlq', 'list'], {
      ...{ topicPrefix, brokers: cluster.brokers },
    });
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    // a broker that answers may still name the stopped one as the leader
    expect(stderr).toMatch(/no leader|ECONNREFUSED/);
  });

  it('delay nothing else after a restart either', async () => {
    plant.killBridge();
    bridge = plant.startBridge();
    await sendList(0, 'M-001', 'list 0c');
    await answers.untilAll(['list 0c']);
  });

  it('continue when the broker is back', async () => {
    await sendMalformed('malformed, too');
    expect(answers.unanswered(malformed)).toEqual(malformed);
    await cluster.nodes[LOST - 1]!.restart();
    await answers.untilAll(malformed);
    await sendReason(0, 'M-001', 'reason 0d');
    await sendReason(1, 'M-002', 'reason 1d');
    await answers.untilAll(['reason 0d', 'reason 1d']);
    await bridge.ready();
    expect(answers.repetitions()).toEqual([]);
  });
});
