import { type Cluster, type Consumer, type Kafka } from '#libs/kafkajs-patches';
import { coPartitionedAssigner } from './co-partitioned-assigner.js';

/** A member that is silent for this long is taken for dead, by the coordinator and by us. */
export const SESSION_TIMEOUT_MS = 8000;

interface CoordinatorGuard {
  /** A consumer that crashes leaves the group by itself, which hands its partitions on, and says so only afterwards. */
  beforeLeave: () => Promise<void>;
  /** Before a member that has joined asks for what it is assigned in a generation of the group. */
  beforeSync: (generation: number) => void;
}

/** The moments before a member gives up its partitions or says how far they are done, of which kafkajs tells nobody. */
interface MembershipHooks extends CoordinatorGuard {
  /** Before it joins, at first and in each rebalance; what it throws keeps it from joining. */
  beforeJoin: () => void;
}

/** A member of the group that never restarts by itself: {@link SupervisedConsumer} does that. */
export function createConsumer(kafka: Kafka, groupId: string, hooks: MembershipHooks): Consumer {
  return kafka.consumer({
    groupId,
    partitionAssigners: [
      (given) => {
        // The only place at which kafkajs hands out what it knows the group's coordinator by.
        guardCoordinator(given.cluster, hooks);
        return coPartitionedAssigner(hooks.beforeJoin)(given);
      },
    ],
    sessionTimeout: SESSION_TIMEOUT_MS,
    rebalanceTimeout: 15_000,
    // Members hear of a rebalance by it: what a dead one had stands still for so much longer.
    heartbeatInterval: 1000,
    maxWaitTimeInMs: 250,
    // A partition that is full by one fetch too many holds that much more.
    maxBytesPerPartition: 256 * 1024,
    // An input that has grown is noticed by it, and once more that the bridge's state has grown with it.
    metadataMaxAge: 10_000,
    allowAutoTopicCreation: false,
    retry: {
      // Joining is tried again at this pace while calls in flight keep it from its turn.
      initialRetryTime: 100,
      maxRetryTime: 500,
      retries: 30,
      restartOnFailure: () => Promise.resolve(false),
    },
  });
}

/** In kafkajs but not in its types: what its consumer asks of the group's coordinator. */
interface Coordinator {
  leaveGroup(request: { groupId: string; memberId: string }): Promise<unknown>;
  syncGroup(request: { generationId: number }): Promise<unknown>;
}
interface CoordinatedCluster {
  findBroker(request: { nodeId: string }): Promise<Coordinator>;
}

/** Asks the guard before a consumer tells the group's coordinator what cannot be taken back. */
export function guardCoordinator(cluster: Cluster, guard: CoordinatorGuard): void {
  const coordinated = cluster as unknown as CoordinatedCluster;
  const guarded = new WeakSet<Coordinator>();
  const find = coordinated.findBroker.bind(cluster);
  coordinated.findBroker = async (request) => {
    const broker = await find(request);
    if (guarded.has(broker)) return broker;
    guarded.add(broker);
    const leaveGroup = broker.leaveGroup.bind(broker);
    const syncGroup = broker.syncGroup.bind(broker);
    broker.leaveGroup = async (leaving) => {
      await guard.beforeLeave();
      return leaveGroup(leaving);
    };
    broker.syncGroup = (request) => {
      guard.beforeSync(request.generationId);
      return syncGroup(request);
    };
    return broker;
  };
}
