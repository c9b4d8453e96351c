import { type Consumer, type Kafka } from 'kafkajs';
import { coPartitionedAssigner } from './co-partitioned-assigner.js';

/** A member that is silent for this long is taken for dead, by the coordinator and by us. */
export const SESSION_TIMEOUT_MS = 10_000;

/** A member of the group that never restarts by itself: {@link SupervisedConsumer} does that. */
export function createConsumer(kafka: Kafka, groupId: string, beforeJoin: () => void): Consumer {
  return kafka.consumer({
    groupId,
    partitionAssigners: [coPartitionedAssigner(beforeJoin)],
    sessionTimeout: SESSION_TIMEOUT_MS,
    rebalanceTimeout: 15_000,
    heartbeatInterval: 2000,
    maxWaitTimeInMs: 250,
    // A partition that is full by one fetch too many holds that much more.
    maxBytesPerPartition: 256 * 1024,
    metadataMaxAge: 60_000,
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
