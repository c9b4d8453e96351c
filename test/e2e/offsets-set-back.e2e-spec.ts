import { TOPICS } from '#libs/contracts';
import { eventually } from '../support/eventually.js';
import { type Plant, startPlant } from '../support/plant.js';
import { outcomesByMessage } from '../support/outcomes-by-message.js';
import type { TopicReader } from '../support/topic-reader.js';

const DEAD_LETTERS = `${TOPICS.workOrderLists}.dlq`;
const PUBLISHED = { one: ['M-001 applied'], two: ['M-002 applied', 'M-999 rejected'] };

describe('messages with outcomes', () => {
  let plant: Plant;
  let outcomes: TopicReader;

  const send = (messageId: string, list: unknown): Promise<void> =>
    plant.kafka.sendJson(TOPICS.workOrderLists, 'key', list, { 'message-id': messageId });

  const untilCommitted = (): Promise<void> =>
    plant.kafka.groups.untilAllCommitted(plant.groupId, TOPICS.workOrderLists);

  beforeAll(async () => {
    plant = await startPlant();
    outcomes = await plant.kafka.read(TOPICS.commandOutcomes, DEAD_LETTERS);
    await send('one', { machineId: 'M-001', workingOrders: ['1'] });
    await send('two', {
      machines: [
        { machineId: 'M-002', workingOrders: ['2'] },
        { machineId: 'M-999', workingOrders: ['2'] },
      ],
    });
    await untilCommitted();
  });

  afterAll(() => plant.close());

  it('are committed with their outcomes: a reader of the offset sees all of these', async () => {
    expect(await plant.kafka.topics.count(TOPICS.commandOutcomes)).toBe(3);
    expect(await plant.kafka.topics.count(DEAD_LETTERS)).toBe(1);
    await eventually(
      'all of it is read',
      () => Object.values(outcomesByMessage(outcomes)).flat().length === 3,
    );
    expect(outcomesByMessage(outcomes)).toEqual(PUBLISHED);
  });

  it('get no outcomes from the next owner', async () => {
    await plant.restartBridge();
    await send('three', { machineId: 'M-001', workingOrders: ['3'] });
    await untilCommitted();
    await eventually(
      'the third is published',
      () => outcomesByMessage(outcomes)['three'] !== undefined,
    );
    expect(outcomesByMessage(outcomes)).toEqual({ ...PUBLISHED, three: ['M-001 applied'] });
    expect(await plant.kafka.topics.count(DEAD_LETTERS)).toBe(1);
  });

  it('get outcomes again after the offsets of their group are set back by hand', async () => {
    const before = await plant.kafka.topics.count(TOPICS.commandOutcomes);
    await plant.bridge.close();
    await plant.kafka.groups.setBack(plant.groupId, TOPICS.workOrderLists);
    await plant.restartBridge();
    await eventually(
      'each is published again',
      async () => (await plant.kafka.topics.count(TOPICS.commandOutcomes)) === 2 * before,
    );
  });
});
