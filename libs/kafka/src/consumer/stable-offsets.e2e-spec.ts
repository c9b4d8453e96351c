import { randomUUID } from 'node:crypto';
import { loadKafkaSettings, readEnvironment } from '#libs/config';
import {
  type Admin,
  type Producer,
  type ProducerConfig,
  readStableOffsets,
  type Transaction,
} from '#libs/kafkajs-patches';
import { ensureTopics } from '../client/ensure-topics.js';
import { createKafka } from '../client/kafka-client.js';
import { CommittedOffsets } from '../producer/committed-offsets.js';
import { eventually } from '../testing/wait.js';

const RECORDS = 10;

describe('an offset that a transaction is about to set', () => {
  const kafka = createKafka(loadKafkaSettings(readEnvironment()));
  const closers: (() => Promise<void>)[] = [];
  let topic: string;
  let groupId: string;
  let transaction: Transaction;

  beforeEach(async () => {
    topic = `test-${randomUUID().slice(0, 8)}.stable-offsets`;
    groupId = `${topic}.group`;
    const specification = { name: topic, cleanupPolicy: 'delete' as const };
    await ensureTopics(kafka, [specification], { create: true, partitions: 2 });
    const both = [0, 1].map((partition) => ({ partition, offset: '1' }));
    await (await openAdmin()).setOffsets({ groupId, topic, partitions: both });
    const numbers = Array.from({ length: RECORDS }, (_, number) => String(number));
    const messages = [0, 1].flatMap((partition) => numbers.map((value) => ({ partition, value })));
    await (await openProducer()).send({ topic, messages });
    const producer = await openProducer({ transactionalId: topic, maxInFlightRequests: 1 });
    transaction = await producer.transaction();
    await transaction.sendOffsets({
      ...{ consumerGroupId: groupId },
      topics: [{ topic, partitions: [{ partition: 0, offset: '5' }] }],
    });
  });
  afterEach(async () => {
    if (transaction.isActive()) await transaction.abort();
    await Promise.all(closers.splice(0).map((close) => close()));
  });

  async function openAdmin(): Promise<Admin> {
    const admin = kafka.admin();
    closers.push(() => admin.disconnect());
    await admin.connect();
    return admin;
  }

  async function openProducer(config: ProducerConfig = {}): Promise<Producer> {
    const producer = kafka.producer({ idempotent: true, ...config });
    closers.push(() => producer.disconnect());
    await producer.connect();
    return producer;
  }

  const offsets = async (admin: Admin): Promise<string[]> => {
    const [found] = await admin.fetchOffsets({ groupId, topics: [topic] });
    return (found?.partitions ?? [])
      .map(({ partition, offset }) => `${partition}: ${offset}`)
      .sort();
  };

  it('is left out if stable offsets are requested; other clients get the one before', async () => {
    const stable = await openAdmin();
    readStableOffsets(stable);
    expect(await offsets(stable)).toEqual(['1: 1']);
    expect(await offsets(await openAdmin())).toEqual(['0: 1', '1: 1']);
    await transaction.commit();
    await eventually('it is set', async () => (await offsets(stable)).join() === '0: 5,1: 1');
  });

  it('delays the next owner of its partition, up to a deadline, and no other partition', async () => {
    const committed = new CommittedOffsets(kafka, groupId);
    const isRefused = expect(committed.fetchProgress(topic, 0)).rejects.toThrow('does not end');
    expect(await committed.fetchProgress(topic, 1)).toMatchObject({ begin: 1 });
    await isRefused;
    await transaction.commit();
    expect(await committed.fetchProgress(topic, 0)).toMatchObject({ begin: 5 });
  });

  it.each([
    ['committed', '5'],
    ['aborted', '1'],
  ])('keeps a consumer from beginning until the transaction is %s', async (end, begin) => {
    const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 50 });
    closers.push(() => consumer.disconnect());
    const read: string[] = [];
    await consumer.connect();
    await consumer.subscribe({ topics: [topic] });
    await consumer.run({
      autoCommit: false,
      eachMessage: ({ partition, message }) => {
        read.push(`${partition}: ${message.offset}`);
        return Promise.resolve();
      },
    });
    await eventually('the other partition is read', () => read.includes('1: 9'));
    expect(read[0]).toBe('1: 1');
    expect(read.filter((each) => each.startsWith('0'))).toEqual([]);
    await (end === 'committed' ? transaction.commit() : transaction.abort());
    await eventually('it is read, too', () => read.includes('0: 9'));
    expect(read.find((each) => each.startsWith('0'))).toBe(`0: ${begin}`);
  });
});
