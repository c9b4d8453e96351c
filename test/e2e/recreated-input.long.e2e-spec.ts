import { TOPICS } from '#libs/contracts';
import { eventually } from '../support/eventually.js';
import { outcomesByMessage } from '../support/outcomes-by-message.js';
import { type Plant, startPlant } from '../support/plant.js';
import type { TopicReader } from '../support/topic-reader.js';

describe('an input topic that is recreated while the bridge runs', () => {
  let plant: Plant;
  let outcomes: TopicReader;

  beforeAll(async () => {
    plant = await startPlant({ env: { KAFKA_TOPIC_PARTITIONS: '1' } });
    outcomes = await plant.kafka.read(TOPICS.commandOutcomes);
  });

  afterAll(() => plant.close());

  const sendLists = async (log: string, count: number): Promise<void> => {
    const lists = Array.from({ length: count }, (_, number) => ({
      key: 'M-001',
      value: JSON.stringify({ machineId: 'M-001', workingOrders: [`${log}-${number}`] }),
      headers: { 'message-id': `${log}-${number}` },
    }));
    await plant.kafka.send(TOPICS.workOrderLists, ...lists);
    await eventually(`all of ${log} have outcomes`, () =>
      lists.every(({ headers }) => headers['message-id'] in outcomesByMessage(outcomes)),
    );
    await plant.sandbox.listBecomes('M-001', [`${log}-${count - 1}`]);
  };

  it('is read from its beginning', async () => {
    const { topics } = plant.kafka;
    await sendLists('before', 50);
    await topics.deleteTopic(TOPICS.workOrderLists);
    await topics.createMissing(1, TOPICS.workOrderLists);
    await sendLists('after', 5);
    await sendLists('later', 50);
    const each = Object.values(outcomesByMessage(outcomes));
    expect(each.filter((of) => of.length !== 1)).toEqual([]);
  });
});
