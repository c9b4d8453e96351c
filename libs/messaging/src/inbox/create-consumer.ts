import { type Consumer, type Kafka } from '../kafkajs.js';
import { coPartitionedAssigner } from './co-partitioned-assigner.js';
import { type CoordinatorGuard, guardCoordinator } from './guard-coordinator.js';

/** A member that is silent for this long is taken for dead, by the coordinator and by us. */
export const SESSION_TIMEOUT_MS = 8000;

/** The moments before a member gives up its partitions or says how far they are done, of which kafkajs tells nobody. */
export interface MembershipHooks extends CoordinatorGuard {
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
