import { withDeadline } from '#libs/clock';
import {
  AssignerProtocol,
  type Cluster,
  leaveGroup,
  limitOffsetWait,
  type PartitionAssigner,
} from '#libs/kafkajs-patches';
import type { Consumer, FetchedEnds, KafkaClient } from '../client/kafka-port.js';
import { withAdmin } from '../client/with-admin.js';
import type { Fetch, UnreadableTopics } from './unreadable-topics.js';

/** After this time without a heartbeat, the coordinator and the member itself count it as dead. */
export const SESSION_TIMEOUT_MS = 8000;

/** What a member does in its group, for which kafkajs has no events. */
interface MembershipHooks {
  /** Runs before each join, also the first; what it throws keeps the member from joining. */
  beforeJoin: () => void;
  /** Receives the id under which a member asks to join, new or not; what it throws keeps the member from joining. */
  joinsAs: (memberId: string) => void;
  /** Runs before the consumer leaves the group, which revokes its partitions. kafkajs also leaves after a crash. */
  beforeLeave: () => Promise<void>;
  /** Runs after a member has joined a generation of the group, before it asks for its assignment. */
  beforeSync: (generation: number) => void;
  /** Receives the ends of each fetched partition, also if the fetch holds nothing of it. */
  endsFetched: (topic: string, ends: FetchedEnds) => void;
  unreadable: UnreadableTopics;
}

/** Creates a member of the group that never restarts itself: {@link SupervisedConsumer} replaces it. */
export function createGroupConsumer(
  kafka: KafkaClient,
  groupId: string,
  hooks: MembershipHooks,
): Consumer {
  return kafka.consumer({
    groupId,
    partitionAssigners: [
      (given) => {
        // Only the assigner is given the cluster, and with it the group's coordinator.
        guardBrokers(given.cluster, hooks);
        // It sends no heartbeat meanwhile.
        limitOffsetWait(given.cluster);
        hooks.unreadable.cluster = given.cluster;
        return coPartitionedAssigner(hooks.beforeJoin)(given);
      },
    ],
    sessionTimeout: SESSION_TIMEOUT_MS,
    rebalanceTimeout: 15_000,
    // Members learn of a rebalance by heartbeat; partitions of a dead member wait longer by its interval.
    heartbeatInterval: 1000,
    maxWaitTimeInMs: 250,
    // A full partition may receive one more fetch.
    maxBytesPerPartition: 256 * 1024,
    // Notices partitions added to an input, and then to the state that goes with it.
    metadataMaxAge: 10_000,
    allowAutoTopicCreation: false,
    retry: {
      // Pace of joining while calls under way keep the member from it.
      initialRetryTime: 100,
      maxRetryTime: 500,
      retries: 30,
      restartOnFailure: () => Promise.resolve(false),
    },
  });
}

/** Part of kafkajs's broker that its types lack. The group's coordinator answers some of the requests. */
interface Broker {
  /** `host:port`. */
  readonly brokerAddress: string;
  joinGroup(request: JoinRequest): Promise<unknown>;
  leaveGroup(request: { groupId: string; memberId: string }): Promise<unknown>;
  syncGroup(request: { generationId: number }): Promise<unknown>;
  fetch: Fetch;
}
interface JoinRequest {
  /** Empty for a new member. */
  memberId: string;
  onMemberId?: (memberId: string) => void;
}
interface CoordinatedCluster {
  findBroker(request: { nodeId: string }): Promise<Broker>;
}

/** Calls the guard before the consumer joins or leaves the group or asks for its assignment, and for each fetch. */
export function guardBrokers(cluster: Cluster, guard: Omit<MembershipHooks, 'beforeJoin'>): void {
  const coordinated = cluster as unknown as CoordinatedCluster;
  const guarded = new WeakSet<Broker>();
  const find = coordinated.findBroker.bind(cluster);
  coordinated.findBroker = async (request) => {
    const broker = await find(request);
    if (guarded.has(broker)) return broker;
    guarded.add(broker);
    const joinGroup = broker.joinGroup.bind(broker);
    const leaveGroup = broker.leaveGroup.bind(broker);
    const syncGroup = broker.syncGroup.bind(broker);
    broker.joinGroup = (request) => {
      const { memberId } = request;
      if (memberId !== '') guard.joinsAs(memberId);
      return joinGroup({ ...request, onMemberId: guard.joinsAs });
    };
    broker.leaveGroup = async (leaving) => {
      await guard.beforeLeave();
      return leaveGroup(leaving);
    };
    broker.syncGroup = (request) => {
      guard.beforeSync(request.generationId);
      return syncGroup(request);
    };
    const fetch = guard.unreadable.silent.answeredInTime(broker);
    broker.fetch = async (request) => {
      const fetched = await guard.unreadable.fetchReadable(fetch, request);
      for (const { topicName, partitions } of fetched.responses) {
        for (const ends of partitions) guard.endsFetched(topicName, ends);
      }
      return fetched;
    };
    return broker;
  };
}

const LEAVE_DEADLINE_MS = 1000;

/**
 * A request to join the group that the coordinator has not answered, because other members are still draining their
 * calls. kafkajs cannot leave meanwhile. If the process ended all the same, the group would count it as joined; as the
 * group's leader it would keep all others from partitions until its session ended (13 s without a call in a group of
 * three, 1 s with this class; `leaving-group.e2e-spec.ts`).
 */
export class PendingJoin {
  private memberId: string | undefined;

  constructor(
    private readonly kafka: KafkaClient,
    private readonly groupId: string,
  ) {}

  joinsAs(memberId: string): void {
    this.memberId = memberId;
  }

  recordAssignment(): void {
    this.memberId = undefined;
  }

  /** Leaves the group if a request is pending; resolves after {@link LEAVE_DEADLINE_MS} at most. */
  async leaveGroup(): Promise<void> {
    const { kafka, groupId, memberId } = this;
    if (memberId === undefined) return;
    const left = withAdmin(kafka, (admin) => leaveGroup(admin, { groupId, memberId }));
    await withDeadline(left, LEAVE_DEADLINE_MS);
  }
}

const { MemberAssignment, MemberMetadata } = AssignerProtocol;
/** First version of the consumer protocol: a later one would promise owned partitions to the broker's tools. */
const VERSION = 0;
const NAME = 'machine-bridge-co-partitioned';
const NO_USER_DATA = Buffer.alloc(0);

/**
 * Assigns partition p of every topic to the same one of its subscribers, so that one process has everything about a
 * machine: lists, reasons and states. Members of one group may run different flows: no member is assigned a topic
 * that it has not subscribed to.
 *
 * @param beforeJoin see {@link MembershipHooks.beforeJoin}; kafkajs has no other hook before a join
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

/** Part of kafkajs's cluster that its types lack: loads metadata of topics to which only other members subscribe. */
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
