import { TOPICS } from '#libs/contracts';
import { eventually } from '../support/eventually.js';
import { type Plant, startPlant } from '../support/plant.js';
import { toldOf } from '../support/told-of.js';
import { type TopicReader } from '../support/topic-reader.js';

const DEAD_LETTERS = `${TOPICS.workOrderLists}.dlq`;

describe('messages that are delivered again after their outcomes were told', () => {
  let plant: Plant;
  let outcomes: TopicReader;

  const send = (messageId: string, list: unknown): Promise<void> =>
    plant.kafka.sendJson(TOPICS.workOrderLists, 'key', list, { 'message-id': messageId });

  const untilTold = (what: Record<string, string[]>): Promise<void> =>
    eventually(
      () => {
        expect(toldOf(outcomes)).toEqual(what);
        return true;
      },
      { what: 'what was told' },
    ).then(() => undefined);

  beforeAll(async () => {
    plant = await startPlant();
    outcomes = await plant.kafka.read(TOPICS.commandOutcomes, DEAD_LETTERS);
  });

  afterAll(() => plant.close());

  it('are not answered otherwise by the next owner, nor set aside a second time', async () => {
    await send('one', { machineId: 'M-001', workingOrders: ['1'] });
    await send('two', {
      machines: [
        { machineId: 'M-002', workingOrders: ['2'] },
        { machineId: 'M-999', workingOrders: ['2'] },
      ],
    });
    const told = { one: ['M-001 applied'], two: ['M-002 applied', 'M-999 rejected'] };
    await untilTold(told);

    await plant.bridge.close();
    await plant.kafka.groups.forgetCommits(plant.groupId);
    await send('three', { machineId: 'M-001', workingOrders: ['3'] });
    await send('four', { machineId: 'M-002', workingOrders: ['4'] });
    await plant.restartBridge();

    await plant.sandbox.listBecomes('M-001', ['3']);
    await untilTold({ ...told, three: ['M-001 applied'], four: ['M-002 applied'] });
    // All of it is final by now: nothing more can come of it.
    await eventually(
      async () => (await plant.kafka.groups.committed(plant.groupId, TOPICS.workOrderLists)) === 4,
      { what: 'all is committed' },
    );
    await untilTold({ ...told, three: ['M-001 applied'], four: ['M-002 applied'] });
    expect(await plant.kafka.topics.count(DEAD_LETTERS)).toBe(1);
  });

  it('are answered again when the offsets of their group were set back by hand', async () => {
    await plant.bridge.close();
    await plant.kafka.groups.setBack(plant.groupId, TOPICS.workOrderLists);
    const before = await plant.kafka.topics.count(TOPICS.commandOutcomes);
    await plant.restartBridge();
    await eventually(
      async () => (await plant.kafka.topics.count(TOPICS.commandOutcomes)) === before + 5,
      { what: 'each is told again' },
    );
  });
});
