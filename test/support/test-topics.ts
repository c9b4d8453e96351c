import { ensureTopics } from '#libs/messaging';
import { ConfigResourceTypes, type Kafka } from '../../libs/messaging/src/kafkajs.js';
import { eventually } from './eventually.js';
import { withAdmin } from './with-admin.js';

/** The topics of one test, named without their prefix, as whoever runs a plant's Kafka sees them. */
export class TestTopics {
  constructor(
    private readonly kafka: Kafka,
    private readonly prefix: string,
  ) {}

  /** Creates them before a bridge does. */
  async create(numPartitions: number, ...names: string[]): Promise<void> {
    const topics = names.map((name) => ({
      name: `${this.prefix}${name}`,
      cleanupPolicy: 'delete' as const,
    }));
    await ensureTopics(this.kafka, topics, { create: true, partitions: numPartitions });
  }

  /** Creates one topic of one partition that is cleaned up as `config` says. */
  async createCompacted(name: string, config: Record<string, string>): Promise<void> {
    const entries = { 'cleanup.policy': 'compact', ...config };
    const configEntries = Object.entries(entries).map(([key, value]) => ({ name: key, value }));
    const topic = `${this.prefix}${name}`;
    const topics = [{ topic, numPartitions: 1, configEntries }];
    await withAdmin(this.kafka, async (admin) => {
      await admin.createTopics({ topics, waitForLeaders: false });
      await eventually(() => admin.fetchTopicOffsets(topic), { what: `${topic} has a leader` });
    });
  }

  /** Creates one topic whose partitions lie on these nodes, each led by its first. */
  async createPlaced(
    name: string,
    replicas: readonly number[][],
    config: Record<string, string>,
  ): Promise<void> {
    const topic = `${this.prefix}${name}`;
    const replicaAssignment = replicas.map((nodes, partition) => ({ partition, replicas: nodes }));
    const configEntries = Object.entries(config).map(([key, value]) => ({ name: key, value }));
    await withAdmin(this.kafka, async (admin) => {
      await admin.createTopics({ topics: [{ topic, replicaAssignment, configEntries }] });
      await eventually(() => admin.fetchTopicOffsets(topic), { what: `${topic} has leaders` });
    });
  }

  /** Changes settings of a topic. */
  async configure(name: string, config: Record<string, string>): Promise<void> {
    const configEntries = Object.entries(config).map(([key, value]) => ({ name: key, value }));
    const topic = { type: ConfigResourceTypes.TOPIC, name: `${this.prefix}${name}`, configEntries };
    await withAdmin(this.kafka, (admin) =>
      admin.alterConfigs({ validateOnly: false, resources: [topic] }),
    );
  }

  /** Gives a topic so many partitions. */
  async widen(name: string, count: number): Promise<void> {
    const topicPartitions = [{ topic: `${this.prefix}${name}`, count }];
    await withAdmin(this.kafka, (admin) => admin.createPartitions({ topicPartitions }));
  }

  /** Lets a topic take record batches of so many bytes. */
  async allowBatchesOf(name: string, bytes: number): Promise<void> {
    const configEntries = [{ name: 'max.message.bytes', value: String(bytes) }];
    const topic = { type: ConfigResourceTypes.TOPIC, name: `${this.prefix}${name}`, configEntries };
    await withAdmin(this.kafka, (admin) =>
      admin.alterConfigs({ validateOnly: false, resources: [topic] }),
    );
  }

  /** How many records a topic holds. */
  async count(topic: string): Promise<number> {
    const partitions = await withAdmin(this.kafka, (admin) =>
      admin.fetchTopicOffsets(`${this.prefix}${topic}`),
    );
    return partitions.reduce((sum, { low, high }) => sum + Number(high) - Number(low), 0);
  }

  /** Removes what a topic holds, as its retention would in time. */
  async empty(topic: string): Promise<void> {
    const name = `${this.prefix}${topic}`;
    await withAdmin(this.kafka, async (admin) => {
      const partitions = (await admin.fetchTopicOffsets(name)).filter(({ high }) => high !== '0');
      await admin.deleteTopicRecords({
        topic: name,
        partitions: partitions.map(({ partition, high }) => ({ partition, offset: high })),
      });
    });
  }

  /** Deletes a topic; returns once the brokers know. */
  async delete(topic: string): Promise<void> {
    const name = `${this.prefix}${topic}`;
    await withAdmin(this.kafka, async (admin) => {
      await admin.deleteTopics({ topics: [name] });
      await eventually(async () => !(await admin.listTopics()).includes(name), {
        what: `${topic} is gone`,
      });
    });
  }

  /** Gives the first partition of a topic to another of its brokers alone; returns once that leads it. */
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
      await eventually(async () => (await first())?.leader === others[0], {
        what: `${topic} is led by another broker`,
      });
    });
  }

  /** Waits until each of so many brokers has all of what it copies of the others. */
  async untilInSync(brokers: number): Promise<void> {
    await withAdmin(this.kafka, (admin) =>
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
}
