import { readFile } from 'node:fs/promises';
import { TOPICS } from '#libs/contracts';
import { type Plant, startPlant } from '../support/plant.js';
import { header, isOutcomeOf, json, type TopicReader } from '../support/topic-reader.js';

const DEAD_LETTERS = `${TOPICS.workOrders}.dlq`;
const XML = { 'content-type': 'application/xml' };

interface Operation {
  operationId: string;
  machineId?: string;
  plant?: string;
  workCentre?: string;
  sequence?: number;
}

describe('work orders', () => {
  let plant: Plant;
  let answers: TopicReader;

  beforeAll(async () => {
    plant = await startPlant({ env: { EQUIPMENT_MAP_FILE: 'demo/equipment-map.json' } });
    answers = await plant.kafka.read(TOPICS.commandOutcomes, DEAD_LETTERS);
  });

  afterAll(() => plant.close());

  const sendOrder = (
    orderId: string,
    changedAt: number,
    operations: Operation[],
    status = 'released',
  ): Promise<void> => {
    const withStatus = operations.map((operation) => ({ status, ...operation }));
    const order = { orderId, changedAt, status, operations: withStatus };
    const headers = { 'message-id': `${orderId}/${changedAt}` };
    return plant.kafka.sendJson(TOPICS.workOrders, orderId, order, headers);
  };

  /** The first outcome of the order's message. */
  const outcomeOf = async (
    orderId: string,
    changedAt: number,
  ): Promise<Record<string, unknown>> => {
    const outcome = await answers.outcomeOf(`${orderId}/${changedAt}`);
    return { ...json(outcome), type: header(outcome, 'ce_type'), key: outcome.key?.toString() };
  };

  it('turns a real SAP order into the list of the machine of its work centre', async () => {
    const document = await readFile('demo/sap-loipro05-order-1895938.xml');
    await plant.kafka.send(TOPICS.workOrders, { key: '1895938', value: document, headers: XML });
    await plant.sandbox.listBecomes('M-001', ['1895938-0060', '1895938-0070', '1895938-0080']);
    const outcome = await answers.firstAbout('M-001');
    expect(header(outcome, 'ce_type')).toBe('work-order-list.applied.v1');
  });

  it('applies the mapped operations of an order, and dead-letters it for the others', async () => {
    await sendOrder('D', 300, [
      { operationId: '0010', plant: '1000', workCentre: 'FR02' },
      { operationId: '0020', plant: '1000', workCentre: 'NOWHERE' },
    ]);
    await plant.sandbox.listBecomes('M-004', ['D']);
    const deadLetter = await answers.find('a dead letter', ({ topic }) => topic === DEAD_LETTERS);
    expect(header(deadLetter, 'dlq-code')).toBe('unmapped-work-centre');
    expect(header(deadLetter, 'dlq-detail')).toContain('1000/NOWHERE');
    const rejected = await answers.outcomeOf('D/300', 'work-order-list.rejected.v1');
    expect(json(rejected)).toMatchObject({ machineId: null, code: 'unmapped-work-centre' });
    expect(rejected.key?.toString()).toBe('D');
    expect(await plant.kafka.topics.count(DEAD_LETTERS)).toBe(1);
  });

  it('publishes an order without a machine as applied, under its own key', async () => {
    const nowhere = [{ operationId: '0010', plant: '1000', workCentre: 'NOWHERE' }];
    await sendOrder('E', 400, []);
    await sendOrder('F', 400, nowhere, 'planned');
    await sendOrder('G', 400, [], 'completed');
    for (const orderId of ['E', 'F', 'G']) {
      const outcome = await outcomeOf(orderId, 400);
      expect(outcome).toMatchObject({
        ...{ type: 'work-order-list.applied.v1', key: orderId, machineId: null },
        ...{ code: null, detail: null, attempts: 0, appliedAt: expect.any(Number) as unknown },
      });
    }
  });

  it('publishes each duplicate as applied, and an older one as superseded', async () => {
    await sendOrder('H', 500, []);
    await sendOrder('H', 500, []);
    await sendOrder('H', 499, []);
    await outcomeOf('H', 499);
    const ofH = answers.records.filter(({ topic, key }) => {
      return topic === TOPICS.commandOutcomes && key?.toString() === 'H';
    });
    expect(ofH.map((record) => header(record, 'ce_type'))).toEqual([
      'work-order-list.applied.v1',
      'work-order-list.applied.v1',
      'work-order-list.superseded.v1',
    ]);
    expect(new Set(ofH.map((record) => header(record, 'ce_id'))).size).toBe(3);
  });

  it('publishes one outcome, for the machine, when an order leaves it', async () => {
    await sendOrder('I', 600, [{ operationId: '0010', machineId: 'M-010' }]);
    await plant.sandbox.listBecomes('M-010', ['I']);
    await sendOrder('I', 601, []);
    await plant.sandbox.listBecomes('M-010', []);
    expect(await outcomeOf('I', 601)).toMatchObject({ machineId: 'M-010', workingOrders: [] });
    await sendOrder('I', 599, []);
    expect(await outcomeOf('I', 599)).toMatchObject({
      ...{ type: 'work-order-list.superseded.v1', key: 'I', machineId: null, appliedAt: null },
      detail: 'order I changed at 599; known is the change of 601',
    });
  });

  it('outlive the process: earlier orders are on the lists after a restart', async () => {
    const [first, other] = [
      { operationId: '0010', machineId: 'M-005' },
      { operationId: '0020', machineId: 'M-006' },
    ];
    await sendOrder('P', 100, [{ ...first, sequence: 10 }]);
    await sendOrder('Q', 100, [{ ...first, sequence: 30 }, other]);
    await sendOrder('R', 100, [first], 'completed');
    await plant.sandbox.listBecomes('M-005', ['P', 'Q']);
    await outcomeOf('R', 100);
    await plant.restartBridge();
    await sendOrder('S', 100, [{ ...first, sequence: 20 }]);
    await plant.sandbox.listBecomes('M-005', ['P', 'S', 'Q']);
    await sendOrder('Q', 101, [other]);
    await plant.sandbox.listBecomes('M-005', ['P', 'S']);
    await answers.find(
      'an outcome of Q for the machine that it has left',
      (record) => isOutcomeOf(record, 'Q/101') && header(record, 'ce_subject') === 'M-005',
    );
    await sendOrder('R', 99, [first]);
    expect(await outcomeOf('R', 99)).toMatchObject({ type: 'work-order-list.superseded.v1' });
  });

  it('are dead-lettered, byte for byte, if the service refuses them for a machine', async () => {
    const refused = { operation: 'setWorkOrderList', machineId: 'M-008', status: 422 };
    await plant.sandbox.addFault(refused);
    const operations = ['M-008', 'M-009'].map((machineId) => ({
      operationId: machineId,
      machineId,
    }));
    const order = { orderId: 'K', changedAt: 100, status: 'released', operations };
    const value = Buffer.from(`${JSON.stringify(order, null, 3)}\n`);
    const headers = { 'message-id': 'K/100', 'x-erp': Buffer.from([0xff, 0x00]) };
    await plant.kafka.send(TOPICS.workOrders, { key: 'K', value, headers });
    const deadLetter = await answers.find(
      'a dead letter',
      (record) => record.topic === DEAD_LETTERS && record.key?.toString() === 'K',
    );
    await plant.sandbox.listBecomes('M-009', ['K']);
    await plant.sandbox.clearFaults();
    expect(deadLetter.value?.equals(value)).toBe(true);
    expect(deadLetter.headers['x-erp']).toEqual(Buffer.from([0xff, 0x00]));
    expect(header(deadLetter, 'dlq-code')).toBe('rejected-by-service');
    expect(header(deadLetter, 'dlq-http-status')).toBe('422');
    expect(header(deadLetter, 'dlq-machine-ids')).toBe('M-008');
    const { topicPrefix } = plant.kafka;
    expect(header(deadLetter, 'dlq-source-topic')).toBe(`${topicPrefix}${TOPICS.workOrders}`);
    const outcome = await answers.outcomeOf('K/100', 'work-order-list.rejected.v1');
    const { partition, offset } = json(outcome)['source'] as Record<string, number>;
    expect(header(deadLetter, 'dlq-source-partition')).toBe(String(partition));
    expect(header(deadLetter, 'dlq-source-offset')).toBe(String(offset));
  });
});
