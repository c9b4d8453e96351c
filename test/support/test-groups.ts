import { eventually } from './eventually.js';
import type { Kafka } from './stock-kafkajs.js';
import type { TestTopics } from './test-topics.js';
import { withAdmin } from './with-admin.js';

/** Consumer groups and their committed offsets, for the topics of one test, named without their prefix. */
export class TestGroups {
  constructor(
    private readonly kafka: Kafka,
    private readonly topics: TestTopics,
    private readonly topicPrefix: string,
  ) {}

  /** The committed offsets of a group, summed over a topic's partitions; uncommitted ones count as 0. */
  async committed(groupId: string, topic: string): Promise<number> {
    const offsets = await this.committedOffsets(groupId, topic);
    return [...offsets.values()].reduce((sum, offset) => sum + offset, 0);
  }

  /** Waits until a group has committed all records of a topic. */
  async untilAllCommitted(groupId: string, topic: string): Promise<void> {
    await eventually(
      `all of ${topic} is committed`,
      async () => (await this.committed(groupId, topic)) === (await this.topics.endOffset(topic)),
    );
  }

  /** The committed offset of each partition of a topic; 0 if nothing is committed. */
  async committedOffsets(groupId: string, topic: string): Promise<Map<number, number>> {
    const topics = [`${this.topicPrefix}${topic}`];
    // a broker that has stood still is no group's coordinator for a moment
    const [offsets] = await withAdmin(this.kafka, (admin) =>
      eventually(`the offsets of ${groupId}`, () => admin.fetchOffsets({ groupId, topics })),
    );
    const partitions = offsets?.partitions ?? [];
    return new Map(
      partitions.map(({ partition, offset }) => [partition, Math.max(0, Number(offset))]),
    );
  }

  /** Waits until the group is stable with `count` members. */
  async untilMembers(count: number, groupId: string): Promise<void> {
    await withAdmin(this.kafka, (admin) =>
      eventually(`a stable group of ${count}`, async () => {
        const [group] = (await admin.describeGroups([groupId])).groups;
        return group?.state === 'Stable' && group.members.length === count;
      }),
    );
  }

  /** Sets the committed offsets of a group without members to 0, as an operator does to repeat everything. */
  async setBack(groupId: string, topic: string): Promise<void> {
    const name = `${this.topicPrefix}${topic}`;
    await withAdmin(this.kafka, async (admin) => {
      const partitions = await admin.fetchTopicOffsets(name);
      const offsets = partitions.map(({ partition }) => ({ partition, offset: '0' }));
      await admin.setOffsets({ groupId, topic: name, partitions: offsets });
    });
  }

  async names(): Promise<string[]> {
    const { groups } = await withAdmin(this.kafka, (admin) => admin.listGroups());
    return groups.map(({ groupId }) => groupId);
  }
}
