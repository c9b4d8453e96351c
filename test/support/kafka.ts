import { randomUUID } from 'node:crypto';
import { TOPICS } from '#libs/contracts';
import { CommittedReader } from './committed-reader.js';
import { registerCompressingCodecs } from './compressing-codecs.js';
import { PartitionedProducer } from './partitioned-producer.js';
import {
  CompressionTypes,
  type IHeaders,
  Kafka,
  logLevel,
  type Message,
  Partitioners,
} from './stock-kafkajs.js';
import { TestGroups } from './test-groups.js';
import { TestTopics } from './test-topics.js';
import { TopicReader } from './topic-reader.js';

/** The broker that `npm test` has started, or that of KAFKA_BROKERS. */
export function testBrokers(): string[] {
  const brokers = process.env['KAFKA_BROKERS'];
  if (brokers === undefined || brokers === '') {
    throw new Error('KAFKA_BROKERS is not set: run the tests with npm test, which starts a broker');
  }
  return brokers.split(',');
}

/** Separates the topics of one test file from those of all others. */
export function uniqueTopicPrefix(): string {
  return `test-${randomUUID().slice(0, 8)}.`;
}

/** An ERP's, terminal's or subscriber's access to Kafka, with an independent client: kafkajs as it is published. */
export class TestKafka {
  readonly topics: TestTopics;
  readonly groups: TestGroups;
  private readonly kafka: Kafka;
  private readonly closers: (() => Promise<void>)[] = [];
  private readonly readers: TopicReader[] = [];

  constructor(
    brokers: string[],
    readonly topicPrefix: string,
  ) {
    this.kafka = new Kafka({
      clientId: 'test',
      brokers,
      logLevel: logLevel.NOTHING,
      retry: { retries: 10 },
    });
    this.topics = new TestTopics(this.kafka, topicPrefix);
    this.groups = new TestGroups(this.kafka, this.topics, topicPrefix);
  }

  /** Sends to a topic, named without its prefix. */
  send(topic: string, ...messages: Message[]): Promise<void> {
    return this.sendCompressed(topic, CompressionTypes.None, ...messages);
  }

  async sendCompressed(
    topic: string,
    compression: CompressionTypes,
    ...messages: Message[]
  ): Promise<void> {
    const producer = this.kafka.producer({
      createPartitioner: Partitioners.DefaultPartitioner,
      allowAutoTopicCreation: false,
    });
    registerCompressingCodecs();
    await producer.connect();
    try {
      await producer.send({ topic: `${this.topicPrefix}${topic}`, compression, messages });
    } finally {
      await producer.disconnect();
    }
  }

  sendJson(topic: string, key: string, value: unknown, headers: IHeaders = {}): Promise<void> {
    return this.send(topic, { key, value: JSON.stringify(value), headers });
  }

  sendList(
    machineId: string,
    workingOrders: readonly string[],
    headers: IHeaders = {},
  ): Promise<void> {
    return this.sendJson(TOPICS.workOrderLists, machineId, { machineId, workingOrders }, headers);
  }

  /** Sends in a transaction, which is then committed or aborted. */
  async transact(topic: string, end: 'commit' | 'abort', ...messages: Message[]): Promise<void> {
    const producer = this.kafka.producer({
      transactionalId: `${this.topicPrefix}${randomUUID()}`,
      idempotent: true,
      maxInFlightRequests: 1,
      createPartitioner: Partitioners.DefaultPartitioner,
    });
    await producer.connect();
    try {
      const transaction = await producer.transaction();
      await transaction.send({ topic: `${this.topicPrefix}${topic}`, messages });
      await transaction[end]();
    } finally {
      await producer.disconnect();
    }
  }

  /** A producer that writes its messages in order and each once, although it repeats requests after an error. */
  async steadyProducer(): Promise<PartitionedProducer> {
    const producer = new PartitionedProducer(this.kafka);
    this.closers.push(() => producer.disconnect());
    await producer.connect();
    return producer;
  }

  /**
   * Reads topics from their beginning, only committed records. Records of the bridge are checked against
   * docs/asyncapi.yaml.
   */
  async read(...topics: string[]): Promise<TopicReader> {
    const reader = new TopicReader();
    this.readers.push(reader);
    const groupId = `${this.topicPrefix}reader-${randomUUID()}`;
    const consumer = new CommittedReader(this.kafka, groupId, ({ topic, ...record }) => {
      reader.addRecord({ ...record, topic: topic.slice(this.topicPrefix.length) });
    });
    this.closers.push(() => consumer.stop());
    await consumer.start(topics.map((topic) => `${this.topicPrefix}${topic}`));
    return reader;
  }

  /** @throws InvalidEventError when a record was read that the bridge should not have published */
  async close(): Promise<void> {
    await Promise.all(this.closers.map((close) => close()));
    for (const reader of this.readers) reader.expectValid();
  }
}
