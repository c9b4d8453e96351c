import { withoutGroup } from '#libs/kafkajs-patches';
import type { Consumer, KafkaClient } from '../client/kafka-port.js';

/** A consumer that has all partitions of its topics once it runs, in no consumer group. It must not commit. */
export function createReader(kafka: KafkaClient): Consumer {
  return kafka.consumer({
    // kafkajs insists on one
    groupId: 'none',
    partitionAssigners: [withoutGroup],
    maxWaitTimeInMs: 250,
    // A topic that has grown is noticed by it.
    metadataMaxAge: 60_000,
    allowAutoTopicCreation: false,
    retry: { initialRetryTime: 100, retries: 5, restartOnFailure: () => Promise.resolve(false) },
  });
}
