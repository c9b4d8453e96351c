import { randomUUID } from 'node:crypto';
import { CommittedReader } from './committed-reader.js';
import { eventually } from './eventually.js';
import { ConfigResourceTypes, type ITopicConfig, type Kafka } from './stock-kafkajs.js';
import { withAdmin } from './with-admin.js';

/** The topics of one test, named without their prefix, with the actions of Kafka's operators. */
export class TestTopics {
  constructor(
    private readonly kafka: Kafka,
    private readonly prefix: string,
  ) {}

  /** Creates missing topics, before a bridge does. */
  async createMissing(numPartitions: number, ...names: string[]): Promise<void> {
    await this.createAll(
      ...names.map((name) => ({ topic: `${this.prefix}${name}`, numPartitions })),
    );
  }

  /** Creates a topic of one partition with this configuration of its clean-up. */
  async createCompacted(name: string, config: Record<string, string>): Promise<void> {
    const configEntries = entriesOf({ 'cleanup.policy': 'compact', ...config });
    await this.createAll({ topic: `${this.prefix}${name}`, numPartitions: 1, configEntries });
  }

  /** Creates a topic whose partitions are on these nodes, each led by its first. */
  async createPlaced(name: string, ...replicas: number[][]): Promise<void> {
    const replicaAssignment = replicas.map((nodes, partition) => ({ partition, replicas: nodes }));
    await this.createAll({ topic: `${this.prefix}${name}`, replicaAssignment });
  }

  private async createAll(...topics: ITopicConfig[]): Promise<void> {
    await withAdmin(this.kafka, async (admin) => {
      await admin.createTopics({ topics, waitForLeaders: false });
      for (const { topic } of topics) {
        await eventually(`${topic} has leaders`, () => admin.fetchTopicOffsets(topic));
      }
    });
  }

  /** Changes settings of a topic; returns when the broker applies them. */
  async configure(name: string, config: Record<string, string>): Promise<void> {
    const configEntries = entriesOf(config);
    const topic = { type: ConfigResourceTypes.TOPIC, name: `${this.prefix}${name}` };
    await withAdmin(this.kafka, (admin) =>
      admin.alterConfigs({ validateOnly: false, resources: [{ ...topic, configEntries }] }),
    );
    await eventually(`${name} is configured`, async () => {
      const present = await this.configOf(name);
      return Object.entries(config).every(([setting, value]) => present[setting] === value);
    });
  }

  async configOf(name: string): Promise<Record<string, string>> {
    const topic = { type: ConfigResourceTypes.TOPIC, name: `${this.prefix}${name}` };
    const { resources } = await withAdmin(this.kafka, (admin) =>
      admin.describeConfigs({ includeSynonyms: false, resources: [topic] }),
    );
    const entries = resources.flatMap(({ configEntries }) => configEntries);
    return Object.fromEntries(
      entries.map(({ configName, configValue }) => [configName, configValue]),
    );
  }

  /** Sets the number of a topic's partitions; returns when the brokers know it. */
  async growToPartitions(name: string, count: number): Promise<void> {
    const topic = `${this.prefix}${name}`;
    await withAdmin(this.kafka, async (admin) => {
      await admin.createPartitions({ topicPartitions: [{ topic, count }] });
      await eventually(`${name} is wider`, async () => {
        const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
        return topics[0]?.partitions.length === count;
      });
    });
  }

  /** Lets a topic accept record batches of `bytes`. */
  allowBatchesOf(name: string, bytes: number): Promise<void> {
    return this.configure(name, { 'max.message.bytes': String(bytes) });
  }

  /** How many records a subscriber gets of a topic. Reads them, because transaction markers have offsets, too. */
  async count(topic: string): Promise<number> {
    const name = `${this.prefix}${topic}`;
    const ends = (await this.endsOf(name)).filter(({ low, high }) => low !== high);
    let count = 0;
    const reader = new CommittedReader(this.kafka, `${this.prefix}count-${randomUUID()}`, () => {
      count += 1;
    });
    try {
      await reader.start([name]);
      await eventually(`${topic} is read to its end`, () =>
        ends.every(({ partition, high }) => reader.positionOf(name, partition) >= Number(high)),
      );
    } finally {
      await reader.stop();
    }
    return count;
  }

  /** The end of a topic: offsets summed over its partitions, including transaction markers. */
  async endOffset(topic: string): Promise<number> {
    const ends = await this.endsOf(`${this.prefix}${topic}`);
    return ends.reduce((sum, { high }) => sum + Number(high), 0);
  }

  /** Includes uncommitted records: a broker may show a commit only some time after it has answered it. */
  private endsOf(name: string): Promise<{ partition: number; low: string; high: string }[]> {
    return withAdmin(uncommitted(this.kafka), (admin) => admin.fetchTopicOffsets(name));
  }

  /** Deletes all records of a topic, as its retention does in time. */
  async deleteRecords(topic: string): Promise<void> {
    const name = `${this.prefix}${topic}`;
    await withAdmin(this.kafka, async (admin) => {
      const partitions = (await admin.fetchTopicOffsets(name)).filter(({ high }) => high !== '0');
      await admin.deleteTopicRecords({
        topic: name,
        partitions: partitions.map(({ partition, high }) => ({ partition, offset: high })),
      });
    });
  }

  /** Deletes a topic; returns when the brokers know it. */
  async deleteTopic(topic: string): Promise<void> {
    const name = `${this.prefix}${topic}`;
    await withAdmin(this.kafka, async (admin) => {
      await admin.deleteTopics({ topics: [name] });
      await eventually(`${topic} is gone`, async () => !(await admin.listTopics()).includes(name));
    });
  }

  /** Moves the first partition of a topic to another of its brokers only; returns when that broker leads it. */
  async moveLeader(topic: string): Promise<void> {
    const name = `${this.prefix}${topic}`;
    await withAdmin(this.kafka, async (admin) => {
      const first = async (): Promise<{ leader: number; replicas: number[] } | undefined> => {
        const { topics } = await admin.fetchTopicMetadata({ topics: [name] });
        return topics[0]?.partitions[0];
      };
      const { leader, replicas = [] } = (await first()) ?? {};
      const others = replicas.filter((broker) => broker !== leader).slice(0, 1);
      await admin.alterPartitionReassignments({
        topics: [{ topic: name, partitionAssignment: [{ partition: 0, replicas: others }] }],
      });
      await eventually(
        `${topic} is led by another broker`,
        async () => (await first())?.leader === others[0],
      );
    });
  }

  /** Waits until each of `brokers` brokers has copied everything from the others. */
  async untilInSync(brokers: number): Promise<void> {
    await withAdmin(this.kafka, (admin) =>
      eventually(`${brokers} brokers in sync`, async () => {
        const { topics } = await admin.fetchTopicMetadata();
        const partitions = topics.flatMap((topic) => topic.partitions);
        return partitions.every(({ isr }) => isr.length === brokers);
      }),
    );
  }
}

/** The same client, whose admin also sees uncommitted records: kafkajs has that setting for consumers only. */
function uncommitted(kafka: Kafka): Kafka {
  const creator = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  );
  if (creator === undefined) throw new Error('kafkajs opens its connections in another way now');
  const { [creator]: create } = kafka as unknown as Record<symbol, (options: object) => unknown>;
  const value = (options: object): unknown => create?.({ ...options, isolationLevel: 0 });
  return Object.create(kafka, { [creator]: { value } }) as Kafka;
}

function entriesOf(config: Record<string, string>): { name: string; value: string }[] {
  return Object.entries(config).map(([name, value]) => ({ name, value }));
}
