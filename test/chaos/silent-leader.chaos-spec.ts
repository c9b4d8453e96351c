import { INTERNAL_TOPICS, TOPICS } from '#libs/contracts';
import { type LocalCluster, startLocalCluster } from '../../tools/kafka/local-kafka.mjs';
import { Answers } from '../support/chaos/answers.js';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { untilReady, untilUnreadyBecause } from '../support/health.js';
import { KafkaRelay } from '../support/kafka-relay.js';
import type { PartitionedProducer } from '../support/partitioned-producer.js';
import { temporaryFolder } from '../../libs/config/test/temporary-files.js';

const BROKERS = 3;
const SILENT = 3;
/** A partition on all brokers, led by a broker that answers or by the silent one. */
const ANSWERS = [1, 2, SILENT];
const LED_BY_SILENT = [SILENT, 1, 2];
/** Kafka's keys of requests: Produce, Fetch, ListOffsets. */
const TO_LEADERS = [0, 1, 2];
const API_KEY_AT = 4;

describe('a broker that does not answer for its partitions, and goes on leading them', () => {
  let cluster: LocalCluster;
  let relays: KafkaRelay[];
  let plant: ChaosPlant;
  let producer: PartitionedProducer;
  let answers: Answers;
  let url: string;

  beforeAll(async () => {
    cluster = await startLocalCluster({ dir: temporaryFolder(), nodes: BROKERS });
    const brokers = cluster.brokers.split(',');
    relays = await KafkaRelay.toEach(brokers);
    plant = await ChaosPlant.open({
      ...{ brokers, machines: 2, partitions: 2 },
      env: { KAFKA_BROKERS: relays.map(({ address }) => address).join() },
      placed: {
        [TOPICS.workOrderLists]: [ANSWERS, LED_BY_SILENT],
        [TOPICS.commandOutcomes]: [ANSWERS, ANSWERS],
        [INTERNAL_TOPICS.workOrderListFences]: [ANSWERS, ANSWERS],
        [INTERNAL_TOPICS.flowControls]: [ANSWERS],
      },
    });
    producer = await plant.kafka.steadyProducer();
    answers = new Answers(await plant.kafka.read(TOPICS.commandOutcomes));
    const first = plant.startBridge();
    await first.ready();
    first.kill('SIGTERM');
    await first.exitCode();
    relays[SILENT - 1]!.holdBack((request) => TO_LEADERS.includes(request.readInt16BE(API_KEY_AT)));
    url = await plant.startBridge().url();
  });

  afterAll(async () => {
    await plant.close();
    for (const relay of relays) await relay.close();
    await cluster.kill();
  });

  const sendList = (partition: number, machineId: string, messageId: string): Promise<void> =>
    producer.send({
      topic: `${plant.kafka.topicPrefix}${TOPICS.workOrderLists}`,
      messages: [
        {
          partition,
          value: JSON.stringify({ machineId, workingOrders: [messageId] }),
          headers: { 'message-id': messageId },
        },
      ],
    });

  it('delays nothing else after a restart, and is named', async () => {
    await sendList(1, 'M-002', 'waits');
    await sendList(0, 'M-001', 'goes on');
    await answers.untilAll(['goes on']);
    expect(answers.unanswered(['waits'])).toEqual(['waits']);
    await untilUnreadyBecause(url, `broker ${relays[SILENT - 1]!.address} does not answer`);
  });

  it('is read when it answers again', async () => {
    relays[SILENT - 1]!.release();
    await answers.untilAll(['waits']);
    await untilReady(url);
    expect(answers.repetitions()).toEqual([]);
  });
});
