import { randomUUID } from 'node:crypto';
import { loadKafkaSettings, readEnvironment } from '#libs/config';
import { createKafka, ensureTopics, topicNames } from '#libs/kafka';
import type { Producer, RequestEvent } from '#libs/kafkajs-patches';

/** Of one partition in an answer, its leader and replicas. */
const PARTITION_BYTES = 26;
const PARTITIONS = 40;

describe('the metadata that a client requests', () => {
  const kafka = createKafka(loadKafkaSettings(readEnvironment()));
  const topic = `test-${randomUUID().slice(0, 8)}.metadata`;
  let producer: Producer;
  let bytes: number[];

  beforeEach(async () => {
    const specification = { name: topic, cleanupPolicy: 'delete' as const };
    await ensureTopics(kafka, [specification], { create: true, partitions: PARTITIONS });
    bytes = [];
    producer = kafka.producer({ transactionalId: randomUUID(), maxInFlightRequests: 1 });
    producer.on(producer.events.REQUEST, ({ payload }: RequestEvent) => {
      if (payload.apiName === 'Metadata') bytes.push(payload.size);
    });
    await producer.connect();
  });
  afterEach(() => producer.disconnect());

  it('is that of the brokers alone before it has a topic, and then that of the topic', async () => {
    const transaction = await producer.transaction();
    expect(bytes).toHaveLength(1);
    expect(bytes[0]).toBeLessThan(PARTITIONS * PARTITION_BYTES);
    await transaction.send({ topic, messages: [{ value: 'x' }] });
    await transaction.commit();
    expect(bytes.at(-1)).toBeGreaterThan(PARTITIONS * PARTITION_BYTES);
  });

  it('is that of all topics when it lists them', async () => {
    expect(await topicNames(kafka)).toContain(topic);
  });
});
