import { TOPICS } from '#libs/contracts';
import { type Plant, startPlant } from '../support/plant.js';
import type { PoisonMessage } from '../support/poison/poison-message.js';
import { POISON_CORPUS } from '../support/poison-corpus.js';
import { header, type TopicReader } from '../support/topic-reader.js';

const TOPIC_OF: Record<PoisonMessage['topic'], string> = {
  lists: TOPICS.workOrderLists,
  reasons: TOPICS.downtimeReasons,
  orders: TOPICS.workOrders,
};

/** Which message of the corpus a dead letter is; a header of the sender's own, which must come back. */
const NUMBER = 'x-poison-number';

describe('hostile input', () => {
  let plant: Plant;
  let deadLetters: TopicReader;

  beforeAll(async () => {
    plant = await startPlant();
    deadLetters = await plant.kafka.read(...Object.values(TOPIC_OF).map((topic) => `${topic}.dlq`));
    for (const [number, { topic, key, value, headers }] of POISON_CORPUS.entries()) {
      const numbered = { ...headers, [NUMBER]: String(number) };
      await plant.kafka.send(TOPIC_OF[topic], { key, value, headers: numbered });
    }
  }, 120_000);

  afterAll(() => plant.close());

  it.each(POISON_CORPUS.map((message, number) => [message.name, number, message] as const))(
    'dead-letters byte for byte: %s',
    async (_name, number, message) => {
      const deadLetter = await deadLetters.find(
        (record) => header(record, NUMBER) === String(number),
        'its dead letter',
      );
      expect(deadLetter.topic).toBe(`${TOPIC_OF[message.topic]}.dlq`);
      expect(header(deadLetter, 'dlq-code')).toBe(message.expectedCode);
      expect(deadLetter.value?.equals(message.value ?? Buffer.alloc(0)) ?? null).toBe(
        message.value === null ? null : true,
      );
      expect(deadLetter.key?.toString() ?? null).toBe(message.key);
      for (const [name, value] of Object.entries(message.headers ?? {})) {
        expect(header(deadLetter, name)).toBe(value);
      }
    },
  );

  it('dead-letters a message whose header is named like what every object has', async () => {
    const headers = { constructor: 'x', [NUMBER]: 'inherited' };
    await plant.kafka.send(TOPICS.workOrderLists, { key: 'M-001', value: '{', headers });
    const deadLetter = await deadLetters.find(
      (record) => header(record, NUMBER) === 'inherited',
      'its dead letter',
    );
    expect(header(deadLetter, 'dlq-code')).toBe('invalid-json');
  });

  it('goes on working after all of it', async () => {
    const list = { machineId: 'M-002', workingOrders: ['after'] };
    await plant.kafka.sendJson(TOPICS.workOrderLists, 'M-002', list);
    await plant.sandbox.listBecomes('M-002', ['after']);
    expect((await fetch(`${plant.bridgeUrl}/health/ready`)).status).toBe(200);
    expect(deadLetters.records).toHaveLength(POISON_CORPUS.length + 1);
  });
});
