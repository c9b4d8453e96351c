import { readFile } from 'node:fs/promises';
import { TOPICS } from '#libs/contracts';
import { type Plant, startPlant } from '../support/plant.js';
import { header, json, type TopicReader } from '../support/topic-reader.js';

const DEAD_LETTERS = `${TOPICS.workOrders}.dlq`;
const XML = { 'content-type': 'application/xml' };

interface Operation {
  operationId: string;
  machineId?: string;
  plant?: string;
  workCentre?: string;
}

function isOf(source: unknown, messageId: string): boolean {
  return (source as { messageId: string | null }).messageId === messageId;
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
    const outcome = await answers.find(
      `an outcome of ${orderId}/${changedAt}`,
      (record) =>
        record.topic === TOPICS.commandOutcomes &&
        isOf(json(record)['source'], `${orderId}/${changedAt}`),
    );
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
});
