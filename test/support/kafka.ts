import { randomUUID } from 'node:crypto';
import {
  CompressionTypes,
  type IHeaders,
  Kafka,
  logLevel,
  type Message,
  Partitioners,
  type Producer,
} from '#libs/kafkajs-patches';
import { registerCompressingCodecs } from './compressing-codecs.js';
import { TestGroups } from './test-groups.js';
import { TestTopics } from './test-topics.js';
import { TopicReader } from './topic-reader.js';

/** The broker that `npm test` has started, or the one of KAFKA_BROKERS. */
export function testBrokers(): string[] {
  const brokers = process.env['KAFKA_BROKERS'];
  if (brokers === undefined || brokers === '') {
    throw new Error('KAFKA_BROKERS is not set: run the tests with npm test, which starts a broker');
  }
  return brokers.split(',');
}

/** Keeps the topics of one test file apart from those of all others. */
export function uniqueTopicPrefix(): string {
  return `test-${randomUUID().slice(0, 8)}.`;
}

/**
 * What an ERP, a terminal or a subscriber does with Kafka, with a client of their own: as the bridge has it, since
 * kafkajs by itself loses and doubles what it sends to several brokers.
 */
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
    this.groups = new TestGroups(this.kafka, topicPrefix);
  }

  /** Sends to a topic named without its prefix. */
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

  /** Sends within a transaction that is then committed or aborted. */
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

  /** Gives its messages to Kafka in their order and each once, also when they are sent again after an error. */
  async steadyProducer(): Promise<Producer> {
    const producer = this.kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      createPartitioner: Partitioners.DefaultPartitioner,
      allowAutoTopicCreation: false,
      retry: { retries: Number.MAX_SAFE_INTEGER },
    });
    this.closers.push(() => producer.disconnect());
    await producer.connect();
    return producer;
  }

  /**
   * Reads topics from their beginning, committed records alone. What the bridge has published is held
   * against docs/asyncapi.yaml on its way.
   */
  async read(...topics: string[]): Promise<TopicReader> {
    const reader = new TopicReader();
    this.readers.push(reader);
    const consumer = this.kafka.consumer({
      groupId: `${this.topicPrefix}reader-${randomUUID()}`,
      maxWaitTimeInMs: 100,
    });
    this.closers.push(() => consumer.disconnect());
    await consumer.connect();
    const names = topics.map((topic) => `${this.topicPrefix}${topic}`);
    await consumer.subscribe({ topics: names, fromBeginning: true });
    await consumer.run({
      eachMessage: ({ topic, partition, message }) => {
        const { key, value, headers = {}, timestamp } = message;
        const name = topic.slice(this.topicPrefix.length);
        const offset = Number(message.offset);
        reader.add({ topic: name, partition, offset, timestamp, key, value, headers });
        return Promise.resolve();
      },
    });
    return reader;
  }

  /** The offsets of what is left of a topic of one partition, up to its last record, which is known. */
  async offsetsLeft(topic: string, last: number): Promise<number[]> {
    const reader = await this.read(topic);
    await reader.find(({ offset }) => offset === last, `the last record of ${topic}`);
    return reader.records.map(({ offset }) => offset);
  }

  /** @throws InvalidEventError when something was read that the bridge should not have published */
  async close(): Promise<void> {
    await Promise.all(this.closers.map((close) => close()));
    for (const reader of this.readers) reader.expectValid();
  }
}
