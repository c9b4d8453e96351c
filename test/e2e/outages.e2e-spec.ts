import { TOPICS } from '#libs/contracts';
import { eventually } from '../support/eventually.js';
import { header, type TopicReader } from '../support/kafka.js';
import { type Plant, startPlant } from '../support/plant.js';

interface Health {
  status: string;
  error: Record<string, { message: string }>;
}

describe('a service that fails', () => {
  let plant: Plant;
  let answers: TopicReader;
  let letters: TopicReader;

  beforeAll(async () => {
    plant = await startPlant({ env: { OUTCOME_DEFERRED_AFTER_SECONDS: '1' } });
    answers = await plant.kafka.read(TOPICS.commandOutcomes, `${TOPICS.workOrderLists}.dlq`);
    letters = await plant.kafka.read(
      `${TOPICS.workOrderLists}.dlq`,
      `${TOPICS.downtimeReasons}.dlq`,
    );
  });

  afterEach(() => plant.sandbox.clearFaults());
  afterAll(() => plant.close());

  const sendList = (machineId: string, ...workingOrders: string[]): Promise<void> =>
    plant.kafka.sendJson(TOPICS.workOrderLists, machineId, { machineId, workingOrders });

  const health = async (): Promise<{ status: number; body: Health }> => {
    const response = await fetch(`${plant.bridgeUrl}/health/ready`);
    return { status: response.status, body: (await response.json()) as Health };
  };

  const outcomesOf = (machineId: string): (string | undefined)[] =>
    answers.records
      .filter((record) => header(record, 'ce_subject') === machineId)
      .map((record) => header(record, 'ce_type'));

  it.each([
    ['answers 503', { status: 503 }],
    ['answers 429 with Retry-After', { status: 429, retryAfter: '1' }],
    ['drops connections', { drop: true }],
  ])('is called again until it takes the list, when it %s', async (name, fault) => {
    const order = name.replaceAll(' ', '-');
    await plant.sandbox.addFault({ operation: 'setWorkOrderList', ...fault, count: 3 });
    await sendList('M-001', order);
    await plant.sandbox.listBecomes('M-001', [order]);
    expect(answers.records.filter(({ topic }) => topic.endsWith('.dlq'))).toEqual([]);
  });

  it('says once that a list is deferred, and that it is applied when the service is back', async () => {
    await plant.sandbox.addFault({ operation: '*', status: 500 });
    await sendList('M-002', '4711');
    await eventually(() => outcomesOf('M-002').includes('work-order-list.deferred.v1'), {
      what: 'the list is deferred',
    });
    await plant.sandbox.clearFaults();
    await plant.sandbox.listBecomes('M-002', ['4711']);
    await eventually(() => outcomesOf('M-002').length === 2, { what: 'two outcomes' });
    expect(outcomesOf('M-002')).toEqual([
      'work-order-list.deferred.v1',
      'work-order-list.applied.v1',
    ]);
  });

  it('pauses the flow while the token is refused, says so, and goes on by itself', async () => {
    await plant.sandbox.addFault({ operation: 'setWorkOrderList', status: 401 });
    await sendList('M-003', '4712');
    const paused = await eventually(
      async () => {
        const { status, body } = await health();
        return status === 503 && body;
      },
      { what: 'health is 503' },
    );
    expect(paused.error['work-orders']?.message).toContain('401');
    await plant.sandbox.clearFaults();
    await plant.sandbox.listBecomes('M-003', ['4712']);
    await eventually(async () => (await health()).status === 200, { what: 'health is 200' });
    expect(answers.records.filter(({ topic }) => topic.endsWith('.dlq'))).toEqual([]);
  });

  it('does not hold up other machines for one that it keeps failing', async () => {
    await plant.sandbox.addFault({
      operation: 'setWorkOrderList',
      machineId: 'M-004',
      status: 503,
    });
    await sendList('M-004', 'late');
    await sendList('M-005', 'in-time');
    await plant.sandbox.listBecomes('M-005', ['in-time']);
    expect((await plant.sandbox.machine('M-004')).workingOrders).toEqual([]);
    await plant.sandbox.clearFaults();
    await plant.sandbox.listBecomes('M-004', ['late']);
  });

  it.each([
    ['list', 'setWorkOrderList', TOPICS.workOrderLists, { workingOrders: ['x'] }],
    [
      'reason',
      'setMachineClassification',
      TOPICS.downtimeReasons,
      { reasonId: '11', startTime: 1 },
    ],
  ])(
    'sets aside a %s that alone is forbidden, while the others get through',
    async (_what, operation, topic, command) => {
      await plant.sandbox.addFault({ operation, machineId: 'M-006', status: 403 });
      const send = (machineId: string): Promise<void> =>
        plant.kafka.sendJson(topic, machineId, { machineId, ...command });
      await send('M-006');
      const letter = await eventually(
        async () => {
          await send('M-007');
          return letters.records.find((record) => record.topic === `${topic}.dlq`);
        },
        { what: 'the dead letter' },
      );
      expect(letter.key?.toString()).toBe('M-006');
      expect(header(letter, 'dlq-code')).toBe('rejected-by-service');
      expect(header(letter, 'dlq-http-status')).toBe('403');
    },
  );
});
