import type { TestKafka } from '../kafka.js';
import type { Message } from '../stock-kafkajs.js';
import { TopicReader } from '../topic-reader.js';
import { readStateStream } from './state-stream.js';

describe('the stream of states', () => {
  it('is read to an end that a subscriber could not object to, and leaves that out', async () => {
    const reader = new TopicReader();
    const kafka = {
      send: (topic: string, ...messages: Message[]): Promise<void> => {
        for (const { partition = 0, key, value, headers = {} } of messages) {
          const bytes = (it: Buffer | string | null | undefined): Buffer | null =>
            typeof it === 'string' ? Buffer.from(it) : (it ?? null);
          const place = { topic, partition, offset: 0 };
          reader.add({ ...place, key: bytes(key), value: bytes(value), headers });
        }
        return Promise.resolve();
      },
      read: () => Promise.resolve(reader),
    };
    const { events, latest } = await readStateStream(kafka as unknown as TestKafka, 3);
    expect([events.size, latest.size]).toEqual([0, 0]);
    reader.expectValid();
  });
});
