import { randomUUID } from 'node:crypto';
import { loadKafkaSettings, readEnvironment } from '#libs/config';
import { createKafka, ensureTopics } from '#libs/kafka';
import type { Producer, RequestEvent } from '#libs/kafkajs-patches';

const ASKED = 'GroupCoordinator';

describe('a producer of transactions', () => {
  const topic = `test-${randomUUID().slice(0, 8)}.coordinator`;
  let producer: Producer;
  let asked: number;

  beforeEach(async () => {
    const kafka = createKafka(loadKafkaSettings(readEnvironment()));
    await ensureTopics(kafka, [{ name: topic, cleanupPolicy: 'delete' as const }], {
      create: true,
      partitions: 1,
    });
    producer = kafka.producer({ transactionalId: randomUUID(), maxInFlightRequests: 1 });
    asked = 0;
    producer.on(producer.events.REQUEST, ({ payload }: RequestEvent) => {
      if (payload.apiName === ASKED) asked += 1;
    });
    await producer.connect();
  });
  afterEach(() => producer.disconnect());

  const write = async (): Promise<void> => {
    const transaction = await producer.transaction();
    await transaction.send({ topic, messages: [{ value: 'x' }] });
    const partitions = [{ partition: 0, offset: '1' }];
    await transaction.sendOffsets({ consumerGroupId: topic, topics: [{ topic, partitions }] });
    await transaction.commit();
  };

  it('does not look up their coordinator again, nor that of the group', async () => {
    await write();
    asked = 0;
    await write();
    await write();
    expect(asked).toBe(0);
  });
});
