import { TOPICS } from '#libs/contracts';
import { type Plant, startPlant } from '../support/plant.js';
import { header, type ReadRecord, type TopicReader } from '../support/topic-reader.js';

const HOUR = 3600;
/** The skew that an earlier version accepted: practically any. */
const ANY_SKEW = { COMMAND_MAX_SKEW_SECONDS: '86400' };

describe('times in the future', () => {
  let plant: Plant;
  let answers: TopicReader;

  beforeAll(async () => {
    plant = await startPlant({ env: ANY_SKEW });
    answers = await plant.kafka.read(
      TOPICS.commandOutcomes,
      ...[TOPICS.workOrderLists, TOPICS.workOrders, TOPICS.downtimeReasons].map(
        (topic) => `${topic}.dlq`,
      ),
    );
  });

  afterAll(() => plant.close());

  const sendList = (machineId: string, order: string, issuedAt: number): Promise<void> =>
    plant.kafka.sendJson(TOPICS.workOrderLists, machineId, {
      ...{ machineId, workingOrders: [order], issuedAt },
    });

  const sendOrder = (orderId: string, machineId: string, changedAt: number): Promise<void> =>
    plant.kafka.sendJson(TOPICS.workOrders, orderId, {
      ...{ orderId, changedAt, status: 'released' },
      operations: [{ operationId: '0010', machineId }],
    });

  const deadLetterOf = (key: string): Promise<ReadRecord> =>
    answers.find(
      `a dead letter of ${key}`,
      (record) => record.topic.endsWith('.dlq') && record.key?.toString() === key,
    );

  it('no longer count if an earlier version has stored them', async () => {
    const nowSeconds = plant.clock.nowSeconds();
    await sendList('M-001', 'ahead', nowSeconds + HOUR);
    await sendOrder('4711', 'M-002', nowSeconds + HOUR);
    await plant.sandbox.listBecomes('M-001', ['ahead']);
    await plant.sandbox.listBecomes('M-002', ['4711']);
    await plant.restartBridge({ COMMAND_MAX_SKEW_SECONDS: '300' });
    await sendList('M-001', 'now', nowSeconds);
    await sendOrder('4711', 'M-003', nowSeconds);
    await plant.sandbox.listBecomes('M-001', ['now']);
    await plant.sandbox.listBecomes('M-002', []);
    await plant.sandbox.listBecomes('M-003', ['4711']);
  });

  it('are rejected in a list, an order and the end of a reason', async () => {
    const nowSeconds = plant.clock.nowSeconds();
    await sendList('M-004', 'ahead', nowSeconds + HOUR);
    await sendOrder('4712', 'M-005', nowSeconds + HOUR);
    await plant.kafka.sendJson(TOPICS.downtimeReasons, 'M-006', {
      ...{ machineId: 'M-006', reasonId: '11', startTime: nowSeconds - HOUR },
      endTime: nowSeconds + 25 * HOUR,
    });
    const deadLetters = await Promise.all(['M-004', '4712', 'M-006'].map(deadLetterOf));
    expect(deadLetters.map((deadLetter) => header(deadLetter, 'dlq-code'))).toEqual(
      deadLetters.map(() => 'invalid-message'),
    );
    expect(
      deadLetters.map((deadLetter) => header(deadLetter, 'dlq-detail')?.split(' ')[0]),
    ).toEqual([...['issuedAt', 'changedAt', 'endTime']]);
    expect(await plant.sandbox.machines()).toContainEqual(
      expect.objectContaining({ machineId: 'M-004', workingOrders: [] }),
    );
  });
});
