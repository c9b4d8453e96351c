import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { realDelayMs } from '#libs/clock';
import { loadBridgeSettings, readEnvironment } from '#libs/config';
import { createKafka, deleteCommitted, ensureTopics } from '#libs/kafka';
import { QueueRetention } from './queue-retention.js';
import { ASSIGNMENT_CHANGES, ORDER_REFUSALS, RELAYED_ORDERS } from './queues.js';

describe('the end of a record of a queue', () => {
  Logger.overrideLogger(false);
  const settings = loadBridgeSettings({
    KAFKA_BROKERS: readEnvironment()['KAFKA_BROKERS'],
    KAFKA_TOPIC_PREFIX: `test-${randomUUID().slice(0, 8)}.`,
    MACHINE_CLOUD_BASE_URL: 'http://localhost:1',
    MACHINE_CLOUD_TOKEN: 'a-token',
  });
  const kafka = createKafka(settings.kafka);
  const retention = new QueueRetention(settings, kafka);

  afterAll(() => {
    retention.onModuleDestroy();
  });

  it('is a tombstone where Kafka does not let records be deleted, or that is not known yet', async () => {
    const { topicPrefix } = settings.kafka;
    const topics = [
      { name: `${topicPrefix}${RELAYED_ORDERS}`, cleanupPolicy: 'compact,delete' as const },
      { name: `${topicPrefix}${ASSIGNMENT_CHANGES}`, cleanupPolicy: 'compact' as const },
      { name: `${topicPrefix}${ORDER_REFUSALS}`, cleanupPolicy: 'compact,delete' as const },
    ];
    await ensureTopics(kafka, topics, { create: true, partitions: 1 });
    // a broker that has just started is still loading its groups
    for (let isLoaded = false; !isLoaded;) {
      isLoaded = await deleteCommitted(kafka, settings.kafka.groupId, topics[0]!.name).then(
        () => true,
        () => realDelayMs(100).then(() => false),
      );
    }
    const endOf = (topic: string): unknown[] => {
      const key = Buffer.from('a-key');
      return [...retention.endOf({ topic, partition: 0, key })];
    };
    const tombstone = { partition: 0, key: Buffer.from('a-key'), value: null };
    expect(endOf(RELAYED_ORDERS)).toMatchObject([tombstone]);
    while (endOf(ORDER_REFUSALS).length > 0) await realDelayMs(50);
    expect(endOf(RELAYED_ORDERS)).toEqual([]);
    expect(endOf(ASSIGNMENT_CHANGES)).toMatchObject([
      { topic: `${topicPrefix}${ASSIGNMENT_CHANGES}`, ...tombstone },
    ]);
  });
});
