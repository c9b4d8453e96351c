import { randomUUID } from 'node:crypto';
import { ensureTopics, registerCompressionCodecs } from '#libs/messaging';
import {
  type Admin,
  CompressionTypes,
  type IHeaders,
  Kafka,
  logLevel,
  type Message,
  Partitioners,
  type Producer,
} from '../../libs/messaging/src/kafkajs.js';
import {
  type InvalidEventError,
  invalidity,
  isPublishedTopic,
} from './events/expect-valid-event.js';
import { type PublishedRecord } from './events/published-record.js';
import { eventually } from './eventually.js';

/** A record as a subscriber of the bridge's topics sees it. */
export interface ReadRecord extends PublishedRecord {
  partition: number;
  offset: number;
  /** Epoch milliseconds in decimal digits; of all that was read, not of what a test makes up. */
  timestamp?: string;
}

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
  private readonly kafka: Kafka;
  private readonly closers: (() => Promise<void>)[] = [];
  private readonly readers: TopicReader[] = [];

  constructor(
    brokers: string[],
    readonly topicPrefix: string,
  ) {
    registerCompressionCodecs();
    this.kafka = new Kafka({
      clientId: 'test',
      brokers,
      logLevel: logLevel.NOTHING,
      retry: { retries: 10 },
    });
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

  /** Creates topics, named without their prefix, before a bridge does. */
  async createTopics(numPartitions: number, ...names: string[]): Promise<void> {
    const topics = names.map((name) => ({
      name: `${this.topicPrefix}${name}`,
      cleanupPolicy: 'delete' as const,
    }));
    await ensureTopics(this.kafka, topics, { create: true, partitions: numPartitions });
  }

  /** Gives a topic, named without its prefix, so many partitions. */
  async widen(name: string, count: number): Promise<void> {
    const topicPartitions = [{ topic: `${this.topicPrefix}${name}`, count }];
    await this.withAdmin((admin) => admin.createPartitions({ topicPartitions }));
  }

  /** Creates one topic of one partition that is cleaned up as `config` says. */
  async createCompacted(name: string, config: Record<string, string>): Promise<void> {
    const entries = { 'cleanup.policy': 'compact', ...config };
    const configEntries = Object.entries(entries).map(([key, value]) => ({ name: key, value }));
    const topic = `${this.topicPrefix}${name}`;
    const topics = [{ topic, numPartitions: 1, configEntries }];
    await this.withAdmin(async (admin) => {
      await admin.createTopics({ topics, waitForLeaders: false });
      await eventually(() => admin.fetchTopicOffsets(topic), { what: `${topic} has a leader` });
    });
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

  /** The committed offsets of a group, summed over a topic's partitions; uncommitted ones count 0. */
  async committed(groupId: string, topic: string): Promise<number> {
    const offsets = await this.committedOffsets(groupId, topic);
    return [...offsets.values()].reduce((sum, offset) => sum + offset, 0);
  }

  /** The committed offset of each partition of a topic; 0 where nothing is committed. */
  async committedOffsets(groupId: string, topic: string): Promise<Map<number, number>> {
    const topics = [`${this.topicPrefix}${topic}`];
    const [offsets] = await this.withAdmin((admin) => admin.fetchOffsets({ groupId, topics }));
    const partitions = offsets?.partitions ?? [];
    return new Map(
      partitions.map(({ partition, offset }) => [partition, Math.max(0, Number(offset))]),
    );
  }

  /** How many records a topic holds. */
  async count(topic: string): Promise<number> {
    const partitions = await this.withAdmin((admin) =>
      admin.fetchTopicOffsets(`${this.topicPrefix}${topic}`),
    );
    return partitions.reduce((sum, { low, high }) => sum + Number(high) - Number(low), 0);
  }

  /** Removes what a topic holds, as its retention would in time. */
  async empty(topic: string): Promise<void> {
    const name = `${this.topicPrefix}${topic}`;
    await this.withAdmin(async (admin) => {
      const partitions = (await admin.fetchTopicOffsets(name)).filter(({ high }) => high !== '0');
      await admin.deleteTopicRecords({
        topic: name,
        partitions: partitions.map(({ partition, high }) => ({ partition, offset: high })),
      });
    });
  }

  /** Deletes a topic; returns once the brokers know. */
  async deleteTopic(topic: string): Promise<void> {
    const name = `${this.topicPrefix}${topic}`;
    await this.withAdmin(async (admin) => {
      await admin.deleteTopics({ topics: [name] });
      await eventually(async () => !(await admin.listTopics()).includes(name), {
        what: `${topic} is gone`,
      });
    });
  }

  /** Waits until each of so many brokers has all of what it copies of the others. */
  async untilInSync(brokers: number): Promise<void> {
    await this.withAdmin((admin) =>
      eventually(
        async () => {
          const { topics } = await admin.fetchTopicMetadata();
          const partitions = topics.flatMap((topic) => topic.partitions);
          return partitions.every(({ isr }) => isr.length === brokers);
        },
        { what: `${brokers} brokers in sync`, timeoutMs: 60_000 },
      ),
    );
  }

  /** Waits until the members of a group have shared out the partitions among so many. */
  async untilGroupHas(members: number, groupId: string): Promise<void> {
    await this.withAdmin((admin) =>
      eventually(
        async () => {
          const [group] = (await admin.describeGroups([groupId])).groups;
          return group?.state === 'Stable' && group.members.length === members;
        },
        { what: `a stable group of ${members}`, timeoutMs: 60_000 },
      ),
    );
  }

  /** Forgets what a group has committed, as if its first members had died before they could; it has no members now. */
  async forgetCommits(groupId: string): Promise<void> {
    await this.withAdmin((admin) => admin.deleteGroups([groupId]));
  }

  /** Sets the committed offsets of a group without members to 0, as an operator would to have all done again. */
  async setBack(groupId: string, topic: string): Promise<void> {
    const name = `${this.topicPrefix}${topic}`;
    await this.withAdmin(async (admin) => {
      const partitions = await admin.fetchTopicOffsets(name);
      const offsets = partitions.map(({ partition }) => ({ partition, offset: '0' }));
      await admin.setOffsets({ groupId, topic: name, partitions: offsets });
    });
  }

  /** The names of all consumer groups. */
  async groups(): Promise<string[]> {
    const admin = this.kafka.admin();
    await admin.connect();
    try {
      return (await admin.listGroups()).groups.map(({ groupId }) => groupId);
    } finally {
      await admin.disconnect();
    }
  }

  /** @throws InvalidEventError when something was read that the bridge should not have published */
  async close(): Promise<void> {
    await Promise.all(this.closers.map((close) => close()));
    for (const reader of this.readers) reader.expectValid();
  }

  private async withAdmin<T>(work: (admin: Admin) => Promise<T>): Promise<T> {
    const admin = this.kafka.admin();
    await admin.connect();
    try {
      return await work(admin);
    } finally {
      await admin.disconnect();
    }
  }
}

/** Everything read so far, and a way to wait for more. */
export class TopicReader {
  private readonly read: ReadRecord[] = [];
  private invalid: InvalidEventError | undefined;

  /** @throws InvalidEventError when one of them should not have been published as it is */
  get records(): readonly ReadRecord[] {
    this.expectValid();
    return this.read;
  }

  /** An invalid record is kept for whoever asks next: thrown here, it would only have the client read it again. */
  add(record: ReadRecord): void {
    this.read.push(record);
    if (isPublishedTopic(record.topic)) this.invalid ??= invalidity(record);
  }

  /** @throws InvalidEventError */
  expectValid(): void {
    if (this.invalid !== undefined) throw this.invalid;
  }

  /** The first record that matches, waiting for it if need be. */
  find(matches: (record: ReadRecord) => boolean, what: string): Promise<ReadRecord> {
    return eventually(() => this.records.find(matches), { what });
  }

  /** At least `count` records that match, waiting for them if need be. */
  async take(
    count: number,
    matches: (record: ReadRecord) => boolean,
    what: string,
  ): Promise<ReadRecord[]> {
    await eventually(() => this.records.filter(matches).length >= count, {
      what: `${count} × ${what}`,
    });
    return this.records.filter(matches);
  }
}

export function header(record: ReadRecord, name: string): string | undefined {
  return record.headers[name]?.toString();
}

export function json(record: ReadRecord): Record<string, unknown> {
  return JSON.parse(record.value?.toString() ?? 'null') as Record<string, unknown>;
}
