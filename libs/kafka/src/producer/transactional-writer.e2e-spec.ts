import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import type { Kafka, RequestEvent } from '#libs/kafkajs-patches';
import { loadKafkaSettings, readEnvironment } from '#libs/config';
import { ensureTopics } from '../client/ensure-topics.js';
import { createKafka } from '../client/kafka-client.js';
import { withAdmin } from '../client/with-admin.js';
import { TransactionalWriter } from './transactional-writer.js';

describe('a transactional writer', () => {
  const topic = `test-${randomUUID().slice(0, 8)}.counts`;
  let kafka: Kafka;

  beforeAll(async () => {
    kafka = createKafka(loadKafkaSettings(readEnvironment()));
    const topics = [{ name: topic, cleanupPolicy: 'compact' as const }];
    await ensureTopics(kafka, topics, { create: true, partitions: 1 });
  });

  const record = { topic, partition: 0, key: 'a', value: '1', headers: {} };

  it.each(['AddPartitionsToTxn', 'Produce'])(
    'lets the transaction end that has just been answered to %s when it is closed',
    async (request) => {
      const makeProducer = jest.spyOn(kafka, 'producer');
      const writer = new TransactionalWriter(kafka, randomUUID());
      const producer = makeProducer.mock.results[0]!.value as ReturnType<Kafka['producer']>;
      makeProducer.mockRestore();
      const answered = new Promise<void>((resolve) => {
        producer.on(producer.events.REQUEST, ({ payload }: RequestEvent) => {
          if (payload.apiName === request) resolve();
        });
      });
      let committed = false;
      const written = writer.writeTransaction([record]).then(() => (committed = true));
      await answered;
      await writer.closeWriter();
      expect(committed).toBe(true);
      await written;
    },
  );

  it('commits one offset right after the other while the brokers still end the previous transaction', async () => {
    const writer = new TransactionalWriter(kafka, randomUUID());
    const groupId = `test-${randomUUID()}`;
    const offsets = Array.from({ length: 50 }, (_, index) => String(index));
    await Promise.all(
      offsets.map((offset) => {
        const place = { partition: 0, offset, metadata: 'm' };
        const topics = [{ topic, partitions: [place] }];
        return writer.writeTransaction([], { commit: { consumerGroupId: groupId, topics } });
      }),
    );
    await writer.closeWriter();
    const committed = () =>
      withAdmin(kafka, (admin) => admin.fetchOffsets({ groupId, topics: [topic] }));
    // shown once the broker has ended the transaction
    while ((await committed())[0]?.partitions[0]?.offset !== '49');
    expect(await committed()).toEqual([
      { topic, partitions: [{ partition: 0, offset: '49', metadata: 'm' }] },
    ]);
  });
});
