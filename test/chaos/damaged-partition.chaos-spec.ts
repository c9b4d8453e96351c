import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { TOPICS } from '#libs/contracts';
import { type LocalKafka, startLocalKafka } from '../../tools/kafka/local-kafka.mjs';
import { temporaryFolder } from '../../libs/config/test/temporary-files.js';
import type { AppProcess } from '../support/app-process.js';
import { Answers } from '../support/chaos/answers.js';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { untilUnreadyBecause } from '../support/health.js';
import type { PartitionedProducer } from '../support/partitioned-producer.js';

const TIMES = { startTime: 1_760_000_000, endTime: 1_760_000_600 };
/** First offset and length of a record batch; the length excludes both fields. */
const PREFIX_BYTES = 12;
const LENGTH_AT = 8;

describe('a partition whose log is damaged on its broker', () => {
  const dir = temporaryFolder();
  let broker: LocalKafka;
  let plant: ChaosPlant;
  let bridge: AppProcess;
  let producer: PartitionedProducer;
  let answers: Answers;

  beforeAll(async () => {
    broker = await startLocalKafka({ dir });
    plant = await ChaosPlant.open({ brokers: [broker.brokers], machines: 2, partitions: 2 });
    bridge = plant.startBridge();
    await bridge.ready();
    producer = await plant.kafka.steadyProducer();
    answers = new Answers(await plant.kafka.read(TOPICS.commandOutcomes));
  });

  afterAll(async () => {
    await plant.close().finally(() => broker.kill());
  });

  const send = (topic: string, partition: number, messageId: string, body: object): Promise<void> =>
    producer.send({
      topic: `${plant.kafka.topicPrefix}${topic}`,
      messages: [{ partition, value: JSON.stringify(body), headers: { 'message-id': messageId } }],
    });
  const sendList = (partition: number, machineId: string, messageId: string): Promise<void> =>
    send(TOPICS.workOrderLists, partition, messageId, { machineId, workingOrders: [messageId] });
  const sendReason = (partition: number, machineId: string, messageId: string): Promise<void> =>
    send(TOPICS.downtimeReasons, partition, messageId, { machineId, reasonId: '11', ...TIMES });

  /** Writes another length into the second batch of the lists in partition 0; returns the previous length. */
  const setLengthOfSecondBatch = async (length: number): Promise<number> => {
    const log = `${plant.kafka.topicPrefix}${TOPICS.workOrderLists}-0`;
    const file = await open(join(dir, 'data', log, '00000000000000000000.log'), 'r+');
    const field = Buffer.alloc(4);
    await file.read(field, 0, field.length, LENGTH_AT);
    const at = PREFIX_BYTES + field.readInt32BE() + LENGTH_AT;
    await file.read(field, 0, field.length, at);
    const before = field.readInt32BE();
    field.writeInt32BE(length);
    await file.write(field, 0, field.length, at);
    await file.close();
    return before;
  };

  it('delays no other partition, and continues once it is readable', async () => {
    await sendList(0, 'M-001', 'list 0');
    await sendList(0, 'M-001', 'list 0a');
    await answers.untilAll(['list 0', 'list 0a']);
    const length = await setLengthOfSecondBatch(1);
    await sendList(0, 'M-001', 'list 0b');
    const damaged = `${plant.kafka.topicPrefix}${TOPICS.workOrderLists}/0`;
    await untilUnreadyBecause(await bridge.url(), damaged);
    await sendList(1, 'M-002', 'list 1');
    await sendReason(0, 'M-001', 'reason 0');
    await answers.untilAll(['list 1', 'reason 0']);
    expect(answers.unanswered(['list 0b'])).toEqual(['list 0b']);
    await setLengthOfSecondBatch(length);
    await answers.untilAll(['list 0b']);
    await bridge.ready();
    expect(answers.repetitions()).toEqual([]);
  });
});
