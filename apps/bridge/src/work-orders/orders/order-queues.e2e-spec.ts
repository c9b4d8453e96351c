import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { realDelayMs } from '#libs/clock';
import { readEnvironment } from '#libs/config';
import { createKafka, deleteCommitted, ensureTopics } from '#libs/kafka';
import { inboundMessage } from '../../delivery/testing/inbound-message.js';
import { bridgeSettings } from '../../platform/testing/bridge-settings.js';
import { ASSIGNMENT_CHANGES, ORDER_REFUSALS, OrderQueues, RELAYED_ORDERS } from './order-queues.js';

type EndedQueue = typeof RELAYED_ORDERS | typeof ASSIGNMENT_CHANGES | typeof ORDER_REFUSALS;

describe('the end of a record of a queue', () => {
  const settings = bridgeSettings({
    KAFKA_BROKERS: readEnvironment()['KAFKA_BROKERS'] ?? '',
    KAFKA_TOPIC_PREFIX: `test-${randomUUID().slice(0, 8)}.`,
  });
  const kafka = createKafka(settings.kafka);
  const queues = new OrderQueues(settings, kafka);

  afterAll(() => {
    queues.onModuleDestroy();
  });

  it('is a tombstone where Kafka does not allow deletion, or while that is unknown', async () => {
    const { topicPrefix } = settings.kafka;
    const log = jest.spyOn(Logger.prototype, 'log');
    const topics = [
      { name: `${topicPrefix}${RELAYED_ORDERS}`, cleanupPolicy: 'compact,delete' as const },
      { name: `${topicPrefix}${ASSIGNMENT_CHANGES}`, cleanupPolicy: 'compact' as const },
      { name: `${topicPrefix}${ORDER_REFUSALS}`, cleanupPolicy: 'compact,delete' as const },
    ];
    await ensureTopics(kafka, topics, { create: true, partitions: 1 });
    // A broker that has just started is still loading its groups.
    for (let isLoaded = false; !isLoaded;) {
      isLoaded = await deleteCommitted(kafka, settings.kafka.groupId, topics[0]!.name).then(
        () => true,
        () => realDelayMs(100).then(() => false),
      );
    }
    const source = { topic: 'orders', partition: 0, offset: 0, messageId: null };
    const order = { orderId: '4711', source, orders: [], operations: [], faults: [] };
    const value = Buffer.from(JSON.stringify(order));
    const endOf = async (queue: EndedQueue): Promise<readonly unknown[]> => {
      const message = inboundMessage({ partition: 0, key: Buffer.from('a-key'), value });
      let ended: readonly unknown[] = ['not taken'];
      await queues.handleQueue(queue, [message], (_message, _content, ending) => {
        ended = ending;
      });
      return ended;
    };
    const tombstone = { partition: 0, key: Buffer.from('a-key'), value: null };
    expect(await endOf(RELAYED_ORDERS)).toMatchObject([tombstone]);
    while ((await endOf(ORDER_REFUSALS)).length > 0) await realDelayMs(50);
    expect(await endOf(RELAYED_ORDERS)).toEqual([]);
    expect(await endOf(ASSIGNMENT_CHANGES)).toMatchObject([
      { topic: `${topicPrefix}${ASSIGNMENT_CHANGES}`, ...tombstone },
    ]);
    expect(log).toHaveBeenCalledWith(
      expect.objectContaining({
        msg: 'queue is shortened by tombstones',
        queue: `${topicPrefix}${ASSIGNMENT_CHANGES}`,
      }),
    );
  });
});
