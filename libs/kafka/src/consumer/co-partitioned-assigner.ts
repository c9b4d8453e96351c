import { AssignerProtocol, type PartitionAssigner } from '#libs/kafkajs-patches';

const { MemberAssignment, MemberMetadata } = AssignerProtocol;
/** The consumer protocol's first version: a later one would promise owned partitions to the broker's tools. */
const VERSION = 0;
const NAME = 'machine-bridge-co-partitioned';
const NO_USER_DATA = Buffer.alloc(0);

/**
 * Partition p of every topic goes to the same member among those that subscribe to the topic, so
 * that what belongs to one machine (its lists, its reasons, its states) is in one process. Members
 * of one group may run different flows: nobody is given a topic it did not ask for.
 *
 * `beforeJoin` is called each time before this member offers itself, and with that gives up what it
 * has: kafkajs has no other moment for it. What it throws keeps the member from joining.
 */
export function coPartitionedAssigner(beforeJoin: () => void): PartitionAssigner {
  return ({ cluster }) => ({
    name: NAME,
    version: VERSION,

    protocol: ({ topics }) => {
      beforeJoin();
      return {
        name: NAME,
        metadata: MemberMetadata.encode({ version: VERSION, topics, userData: NO_USER_DATA }),
      };
    },

    async assign({ members }) {
      const subscribers = subscribersByTopic(members);
      const topics = [...subscribers.keys()];
      await (cluster as unknown as TopicAwareCluster).addMultipleTargetTopics(topics);
      const partitionsOf = (topic: string): number[] =>
        cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId);
      const shares = shareOut(subscribers, partitionsOf);
      return members.map(({ memberId }) => ({
        memberId,
        memberAssignment: MemberAssignment.encode({
          version: VERSION,
          assignment: shares.get(memberId) ?? {},
          userData: NO_USER_DATA,
        }),
      }));
    },
  });
}

function shareOut(
  subscribers: ReadonlyMap<string, readonly string[]>,
  partitionsOf: (topic: string) => readonly number[],
): Map<string, Record<string, number[]>> {
  const shares = new Map<string, Record<string, number[]>>();
  for (const [topic, memberIds] of subscribers) {
    for (const partition of partitionsOf(topic)) {
      const memberId = memberIds[partition % memberIds.length] ?? '';
      const share = shares.get(memberId) ?? {};
      shares.set(memberId, share);
      (share[topic] ??= []).push(partition);
    }
  }
  return shares;
}

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
