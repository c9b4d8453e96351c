import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { type Admin, Kafka, logLevel, type Message, type Transaction } from '#libs/kafkajs-patches';
import { ensureTopics } from '../client/ensure-topics.js';
import { stockKafka, testBrokers } from '../testing/stock-client.js';
import type { InboundMessage } from './inbound-message.js';
import { type KafkaConsumer, KafkaConsumerStrategy } from './kafka-consumer.js';
import { TestCalls } from './testing/test-calls.js';
import { eventually } from './testing/wait.js';

const INPUT = 'input';

describe('input that is written in transactions', () => {
  Logger.overrideLogger(false);
  const kafka = new Kafka({ brokers: testBrokers, logLevel: logLevel.NOTHING });
  const closers: (() => Promise<void>)[] = [];
  let admin: Admin;
  let topicPrefix: string;

  beforeEach(async () => {
    topicPrefix = `test-${randomUUID().slice(0, 8)}.`;
    const topics = [{ name: `${topicPrefix}${INPUT}`, cleanupPolicy: 'delete' as const }];
    await ensureTopics(kafka, topics, { create: true, partitions: 1 });
    admin = stockKafka.admin();
    await admin.connect();
    closers.push(() => admin.disconnect());
  });

  afterEach(async () => {
    await Promise.all(closers.splice(0).map((close) => close()));
  });

  /** One that is open, of a producer of its own. */
  const begin = async (): Promise<Transaction> => {
    const transactionalId = `${topicPrefix}${randomUUID()}`;
    const producer = stockKafka.producer({
      ...{ transactionalId, idempotent: true, maxInFlightRequests: 1 },
    });
    closers.push(() => producer.disconnect());
    await producer.connect();
    return producer.transaction();
  };

  const send = async (to: Transaction, ...messages: Message[]): Promise<void> => {
    await to.send({ topic: `${topicPrefix}${INPUT}`, messages });
  };

  /** What a process that finishes each message at once is handed. */
  const join = (): { consumer: KafkaConsumer; handed: string[] } => {
    const strategy = new KafkaConsumerStrategy({
      ...{ kafka, groupId: topicPrefix, topicPrefix, calls: new TestCalls(), stateTopics: [] },
      giveUp: (message) => {
        message.finish();
      },
      commitIntervalMs: 100,
      prepare: () => Promise.resolve(),
    });
    const handed: string[] = [];
    const handle = (messages: readonly InboundMessage[]): Promise<void> => {
      for (const message of messages) {
        handed.push(String(message.value));
        message.finish();
      }
      return Promise.resolve();
    };
    strategy.addHandler(INPUT, handle as Parameters<KafkaConsumerStrategy['addHandler']>[1], true);
    closers.unshift(() => strategy.close());
    strategy.listen(() => undefined);
    return { consumer: strategy.consumer, handed };
  };

  it.each([
    ['at the beginning', 0],
    ['in the middle of those that are aborted later', 2],
  ])('is handed on as far as it was committed, read from %s', async (_, offset) => {
    const [first, second, third] = [await begin(), await begin(), await begin()];
    // The key is that of an abort marker.
    await send(first, { key: Buffer.alloc(4), value: 'aborted 0' });
    await send(second, { value: 'aborted 1' });
    await send(third, { value: 'committed 2' });
    await send(second, { value: 'aborted 3' });
    await second.abort();
    await send(first, { key: Buffer.alloc(4), value: 'aborted 5' }, { value: 'aborted 6' });
    await first.abort();
    await send(third, { value: 'committed 8' });
    await third.commit();
    const partitions = [{ partition: 0, offset: String(offset) }];
    await admin.setOffsets({ groupId: topicPrefix, topic: `${topicPrefix}${INPUT}`, partitions });

    const { handed } = join();
    await eventually(() => handed.includes('committed 8'), 'the last is handed over');
    expect(handed).toEqual(['committed 2', 'committed 8']);
  });

  it('is committed and counted up to its end, past the markers there', async () => {
    const { consumer, handed } = join();
    const isAt = (end: number): Promise<void> =>
      eventually(async () => {
        const topic = `${topicPrefix}${INPUT}`;
        const [group] = await admin.fetchOffsets({ groupId: topicPrefix, topics: [topic] });
        const [ends] = await admin.fetchTopicOffsets(topic);
        const [backlog] = await consumer.measureBacklog();
        return (
          [ends?.high, group?.partitions[0]?.offset].join() === `${end},${end}` &&
          backlog?.lag === 0
        );
      }, `offset ${end} is committed and nothing lags`);
    const aborted = await begin();
    await send(aborted, { value: 'aborted 0' });
    await aborted.abort();
    await isAt(2);
    const committed = await begin();
    await send(committed, { value: 'committed 2' }, { value: 'committed 3' });
    await committed.commit();
    await isAt(5);
    expect(handed).toEqual(['committed 2', 'committed 3']);
  });
});
