import { ensureTopics } from '#libs/messaging';
import { type Kafka } from '../../libs/messaging/src/kafkajs.js';
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

  /** Gives a topic so many partitions. */
  async widen(name: string, count: number): Promise<void> {
    const topicPartitions = [{ topic: `${this.prefix}${name}`, count }];
    await withAdmin(this.kafka, (admin) => admin.createPartitions({ topicPartitions }));
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
