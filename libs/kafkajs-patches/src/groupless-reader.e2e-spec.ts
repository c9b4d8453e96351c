import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { loadKafkaSettings, readEnvironment } from '#libs/config';
import { createKafka, ensureTopics, partitionCount } from '#libs/kafka';
import type { Consumer, Producer, RequestEvent } from '#libs/kafkajs-patches';
import { withoutGroup } from './consumer.js';

const OF_GROUPS = ['GroupCoordinator', 'JoinGroup', 'SyncGroup', 'Heartbeat', 'OffsetFetch'];

describe('a reader without a group', () => {
  const kafka = createKafka(loadKafkaSettings(readEnvironment()));
  const groupId = `test-${randomUUID()}`;
  let topic: string;
  let producer: Producer;
  let consumer: Consumer;
  let asked: Set<string>;
  let read: string[];
  let reading: EventEmitter;

  beforeEach(async () => {
    topic = `test-${randomUUID().slice(0, 8)}.groupless`;
    const specification = { name: topic, cleanupPolicy: 'delete' as const };
    await ensureTopics(kafka, [specification], { create: true, partitions: 2 });
    producer = kafka.producer();
    await producer.connect();
    [asked, read, reading] = [new Set(), [], new EventEmitter()];
    consumer = kafka.consumer({
      ...{ groupId, partitionAssigners: [withoutGroup], maxWaitTimeInMs: 50, metadataMaxAge: 100 },
      heartbeatInterval: 1,
    });
    consumer.on(consumer.events.REQUEST, ({ payload }: RequestEvent) => asked.add(payload.apiName));
  });
  afterEach(() => Promise.all([consumer.disconnect(), producer.disconnect()]));

  const write = (partition: number, ...values: string[]): Promise<unknown> =>
    producer.send({ topic, messages: values.map((value) => ({ partition, value })) });

  const consume = async (): Promise<void> => {
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachMessage: ({ message }) => {
        read.push(message.value?.toString() ?? '');
        reading.emit('message');
        return Promise.resolve();
      },
    });
  };

  const untilRead = async (...values: string[]): Promise<void> => {
    while (read.length < values.length) await once(reading, 'message');
    expect([...read].sort()).toEqual(values);
  };

  it('reads all partitions of its topics and asks no coordinator', async () => {
    await write(0, 'a');
    await write(1, 'b');
    await consume();
    await untilRead('a', 'b');
    await write(1, 'c');
    await untilRead('a', 'b', 'c');
    await consumer.stop();
    expect(OF_GROUPS.filter((name) => asked.has(name))).toEqual([]);
    expect(asked).toContain('Fetch');
  });

  it('continues with the oldest record if its position has been deleted', async () => {
    await write(0, 'a', 'b');
    consumer.on(consumer.events.GROUP_JOIN, () => {
      consumer.seek({ topic, partition: 0, offset: '1000' });
    });
    await consume();
    await untilRead('a', 'b');
  });

  it('begins again with added partitions', async () => {
    await write(0, 'a');
    await consume();
    await untilRead('a');
    const admin = kafka.admin();
    await admin.connect();
    await admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] });
    await admin.disconnect();
    while ((await partitionCount(kafka, topic)) < 3);
    // the producer may not know of it
    await producer.disconnect();
    await producer.connect();
    await write(2, 'b');
    // it may have begun anew more than once by then
    const again = (): boolean => read.indexOf('a') < read.lastIndexOf('a');
    while (!again() || !read.includes('b')) await once(reading, 'message');
  });
});
