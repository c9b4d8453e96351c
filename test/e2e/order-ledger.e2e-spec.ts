import { TOPICS } from '#libs/contracts';
import { type Plant, startPlant } from '../support/plant.js';
import {
  header,
  isOutcomeOf,
  json,
  type ReadRecord,
  type TopicReader,
} from '../support/topic-reader.js';

const DEAD_LETTERS = `${TOPICS.workOrders}.dlq`;

interface Operation {
  machineId: string;
  status?: string;
  sequence?: number;
}

describe('the order ledger', () => {
  let plant: Plant;
  let answers: TopicReader;

  beforeAll(async () => {
    plant = await startPlant();
    answers = await plant.kafka.read(TOPICS.commandOutcomes, DEAD_LETTERS);
  });

  afterAll(() => plant.close());

  const orderOf = (
    orderId: string,
    changedAt: number,
    operations: readonly Operation[],
    status: string,
  ): object => ({
    orderId,
    changedAt,
    status,
    operations: operations.map((operation, index) => {
      return { operationId: `00${index + 1}0`, ...operation };
    }),
  });

  /** Sends an order and waits for the outcome of each machine asked for. */
  const send = async (
    orderId: string,
    changedAt: number,
    operations: readonly Operation[],
    { status = 'released', answeredFor = operations.map(({ machineId }) => machineId) } = {},
  ): Promise<ReadRecord[]> => {
    const id = `${orderId}/${changedAt}`;
    const order = orderOf(orderId, changedAt, operations, status);
    await plant.kafka.sendJson(TOPICS.workOrders, orderId, order, { 'message-id': id });
    return Promise.all(
      answeredFor.map((machineId) =>
        answers.find(
          `an outcome of ${id} for ${machineId}`,
          (record) => isOutcomeOf(record, id) && header(record, 'ce_subject') === machineId,
        ),
      ),
    );
  };

  it('outlives the process: earlier orders are on the lists after a restart', async () => {
    await send('A', 100, [{ machineId: 'M-001', sequence: 10 }]);
    await send('B', 100, [{ machineId: 'M-001', sequence: 30 }, { machineId: 'M-002' }]);
    await send('Z', 100, [{ machineId: 'M-001' }], { status: 'completed' });
    await plant.restartBridge();
    await send('C', 100, [{ machineId: 'M-001', sequence: 20 }]);
    await plant.sandbox.listBecomes('M-001', ['A', 'C', 'B']);
    await send('B', 101, [{ machineId: 'M-002' }], { answeredFor: ['M-001', 'M-002'] });
    await plant.sandbox.listBecomes('M-001', ['A', 'C']);
    const [late] = await send('Z', 99, [{ machineId: 'M-001' }]);
    expect(late && header(late, 'ce_type')).toBe('work-order-list.superseded.v1');
  });

  it('dead-letters, byte for byte, an order that the service refuses for a machine', async () => {
    const refused = { operation: 'setWorkOrderList', machineId: 'M-008', status: 422 };
    await plant.sandbox.addFault(refused);
    const order = orderOf('I', 100, [{ machineId: 'M-008' }, { machineId: 'M-009' }], 'released');
    const value = Buffer.from(`${JSON.stringify(order, null, 3)}\n`);
    const headers = { 'message-id': 'I/100', 'x-erp': Buffer.from([0xff, 0x00]) };
    await plant.kafka.send(TOPICS.workOrders, { key: 'I', value, headers });
    const deadLetter = await answers.find(
      'a dead letter',
      (record) => record.topic === DEAD_LETTERS && record.key?.toString() === 'I',
    );
    await plant.sandbox.listBecomes('M-009', ['I']);
    await plant.sandbox.clearFaults();
    expect(deadLetter.value?.equals(value)).toBe(true);
    expect(deadLetter.headers['x-erp']).toEqual(Buffer.from([0xff, 0x00]));
    expect(header(deadLetter, 'dlq-code')).toBe('rejected-by-service');
    expect(header(deadLetter, 'dlq-http-status')).toBe('422');
    expect(header(deadLetter, 'dlq-machine-ids')).toBe('M-008');
    const { topicPrefix } = plant.kafka;
    expect(header(deadLetter, 'dlq-source-topic')).toBe(`${topicPrefix}${TOPICS.workOrders}`);
    const outcome = await answers.find(
      'a rejection',
      (record) => header(record, 'ce_type') === 'work-order-list.rejected.v1',
    );
    const { partition, offset } = json(outcome)['source'] as Record<string, number>;
    expect(header(deadLetter, 'dlq-source-partition')).toBe(String(partition));
    expect(header(deadLetter, 'dlq-source-offset')).toBe(String(offset));
  });
});
