import { TOPICS } from '#libs/contracts';
import { type Plant, startPlant } from '../support/plant.js';
import { header, json, type TopicReader } from '../support/topic-reader.js';

const DEAD_LETTERS = `${TOPICS.workOrderLists}.dlq`;

describe('work order lists', () => {
  let plant: Plant;
  let outcomes: TopicReader;

  beforeAll(async () => {
    plant = await startPlant();
    outcomes = await plant.kafka.read(TOPICS.commandOutcomes, DEAD_LETTERS);
  });

  afterAll(() => plant.close());

  it('sets a list that names one machine, in the order given', async () => {
    await plant.kafka.sendList('M-001', ['4712', '4711', '4713'], { 'message-id': 'erp-1' });
    await plant.sandbox.listBecomes('M-001', ['4712', '4711', '4713']);
    const outcome = await outcomes.firstAbout('M-001');
    expect(header(outcome, 'ce_type')).toBe('work-order-list.applied.v1');
    expect(header(outcome, 'ce_source')).toBe('/machine-bridge');
    expect(header(outcome, 'content-type')).toBe('application/json');
    expect(outcome.key?.toString()).toBe('M-001');
    expect(json(outcome)).toMatchObject({
      machineId: 'M-001',
      source: { topic: `${plant.kafka.topicPrefix}${TOPICS.workOrderLists}`, messageId: 'erp-1' },
      code: null,
      attempts: 1,
      workingOrders: ['4712', '4711', '4713'],
    });
  });

  it('publishes only the first hundred orders of a list', async () => {
    const workingOrders = Array.from({ length: 101 }, (_, index) => String(index));
    await plant.kafka.sendList('M-009', workingOrders);
    const outcome = await outcomes.firstAbout('M-009');
    expect(json(outcome)['workingOrders']).toEqual(workingOrders.slice(0, 100));
  });

  it('sets the lists of several machines from one message and clears one with an empty list', async () => {
    const machines = [
      { machineId: 'M-002', workingOrders: ['1'] },
      { machineId: 'M-003', workingOrders: ['2', '3'] },
    ];
    await plant.kafka.sendJson(TOPICS.workOrderLists, 'M-002', { machines });
    await plant.sandbox.listBecomes('M-002', ['1']);
    await plant.sandbox.listBecomes('M-003', ['2', '3']);
    const cleared = { machineId: 'M-003', workingOrders: [] };
    await plant.kafka.sendJson(TOPICS.workOrderLists, 'M-002', cleared);
    await plant.sandbox.listBecomes('M-003', []);
  });

  it('applies the lists of existing machines, and dead-letters the message for an unknown one', async () => {
    const machines = [
      { machineId: 'M-004', workingOrders: ['9'] },
      { machineId: 'M-999', workingOrders: ['9'] },
    ];
    const headers = { 'x-trace': Buffer.from([0, 255, 7]) };
    await plant.kafka.sendJson(TOPICS.workOrderLists, 'M-004', { machines }, headers);
    await plant.sandbox.listBecomes('M-004', ['9']);
    const deadLetter = await outcomes.find('a dead letter', ({ topic }) => topic === DEAD_LETTERS);
    expect(deadLetter.value?.toString()).toBe(JSON.stringify({ machines }));
    expect(deadLetter.key?.toString()).toBe('M-004');
    expect(deadLetter.headers['x-trace']).toEqual(headers['x-trace']);
    expect(header(deadLetter, 'dlq-code')).toBe('unknown-machine');
    expect(header(deadLetter, 'dlq-machine-ids')).toContain('M-999');
    expect(header(deadLetter, 'dlq-machine-ids')).not.toContain('M-004');
    const rejected = await outcomes.firstAbout('M-999');
    expect(header(rejected, 'ce_type')).toBe('work-order-list.rejected.v1');
    expect(json(rejected)).toMatchObject({ machineId: 'M-999', code: 'unknown-machine' });
  });

  it('supersedes a list that was issued earlier, in any partition', async () => {
    const all = ['M-010', 'M-011', 'M-012'];
    const machines = all.map((machineId) => ({ machineId, workingOrders: ['new'] }));
    await plant.kafka.sendJson(TOPICS.workOrderLists, 'any', { machines, issuedAt: 2000 });
    for (const machineId of all) await plant.sandbox.listBecomes(machineId, ['new']);
    for (const partition of [0, 1, 2]) {
      const machineId = all[partition];
      const value = JSON.stringify({ machineId, workingOrders: ['old'], issuedAt: 1000 });
      await plant.kafka.send(TOPICS.workOrderLists, { partition, key: 'any', value });
    }
    const superseded = await outcomes.findAtLeast(
      3,
      'superseded list',
      (record) =>
        header(record, 'ce_type') === 'work-order-list.superseded.v1' &&
        all.includes(header(record, 'ce_subject') ?? ''),
    );
    expect(superseded.map((record) => header(record, 'ce_subject')).sort()).toEqual(all);
    expect(json(superseded[0]!)).toMatchObject({ code: null, attempts: 0, appliedAt: null });
    for (const machineId of all) await plant.sandbox.listBecomes(machineId, ['new']);
  });

  it('reads a CloudEvent in structured mode and answers with its id', async () => {
    const event = {
      specversion: '1.0',
      id: 'event-77',
      source: '/erp',
      type: 'list',
      data: { machineId: 'M-006', workingOrders: ['77'] },
    };
    await plant.kafka.sendJson(TOPICS.workOrderLists, 'M-006', event, {
      'content-type': 'application/cloudevents+json; charset=utf-8',
    });
    const outcome = await outcomes.firstAbout('M-006');
    expect(json(outcome)).toMatchObject({ source: { messageId: 'event-77' } });
  });
});
