import { AssignerProtocol, type PartitionAssigner } from 'kafkajs';

const { MemberAssignment, MemberMetadata } = AssignerProtocol;
/** The consumer protocol's first version: a later one would promise owned partitions to the broker's tools. */
const VERSION = 0;

/**
 * Partition p of every topic goes to the same member among those that subscribe to the topic, so
 * that what belongs to one machine (its lists, its reasons, its states) is in one process. Members
 * of one group may run different flows: nobody is given a topic it did not ask for.
 */
export const coPartitionedAssigner: PartitionAssigner = ({ cluster }) => ({
  name: 'machine-bridge-co-partitioned',
  version: VERSION,

  protocol: ({ topics }) => ({
    name: 'machine-bridge-co-partitioned',
    metadata: MemberMetadata.encode({ version: VERSION, topics, userData: Buffer.alloc(0) }),
  }),

  async assign({ members }) {
    const subscribers = subscribersByTopic(members);
    const topics = [...subscribers.keys()];
    await (cluster as unknown as TopicAwareCluster).addMultipleTargetTopics(topics);
    const assignments = new Map<string, Record<string, number[]>>(
      members.map(({ memberId }) => [memberId, {}]),
    );
    for (const [topic, memberIds] of subscribers) {
      for (const { partitionId } of cluster.findTopicPartitionMetadata(topic)) {
        const assignment = assignments.get(memberIds[partitionId % memberIds.length] ?? '');
        if (assignment !== undefined) (assignment[topic] ??= []).push(partitionId);
      }
    }
    return [...assignments].map(([memberId, assignment]) => ({
      memberId,
      memberAssignment: MemberAssignment.encode({
        version: VERSION,
        assignment,
        userData: Buffer.alloc(0),
      }),
    }));
  },
});

/** In kafkajs but not in its types: makes the leader learn of topics that only others subscribe to. */
interface TopicAwareCluster {
  addMultipleTargetTopics(topics: string[]): Promise<void>;
}

function subscribersByTopic(
  members: readonly { memberId: string; memberMetadata: Buffer }[],
): Map<string, string[]> {
  const subscribers = new Map<string, string[]>();
  for (const { memberId, memberMetadata } of members) {
    for (const topic of MemberMetadata.decode(memberMetadata)?.topics ?? []) {
      subscribers.set(topic, [...(subscribers.get(topic) ?? []), memberId].sort());
    }
  }
  return subscribers;
}
