import { type Consumer, type Kafka } from 'kafkajs';
import { coPartitionedAssigner } from './co-partitioned-assigner.js';

/** A member that is silent for this long is taken for dead, by the coordinator and by us. */
export const SESSION_TIMEOUT_MS = 10_000;

/** A member of the group that never restarts by itself: {@link SupervisedConsumer} does that. */
export function createConsumer(kafka: Kafka, groupId: string): Consumer {
  return kafka.consumer({
    groupId,
    partitionAssigners: [coPartitionedAssigner],
    sessionTimeout: SESSION_TIMEOUT_MS,
    rebalanceTimeout: 15_000,
    heartbeatInterval: 2000,
    maxWaitTimeInMs: 250,
    metadataMaxAge: 60_000,
    allowAutoTopicCreation: false,
    retry: { retries: 5, restartOnFailure: () => Promise.resolve(false) },
  });
}
