import { type CallSlots } from '#libs/delivery';
import { type Kafka } from '../kafkajs.js';
import { type KeyedStateTopic } from '../keyed-state/keyed-state-topic.js';
import { type DeadLetters } from '../outbox/dead-letters.js';

export interface KafkaInboxOptions {
  kafka: Kafka;
  groupId: string;
  topicPrefix: string;
  deadLetters: Pick<DeadLetters, 'letterOf'>;
  /** Topics that hold the bridge's own state, shared out with the input topics. */
  stateTopics: readonly KeyedStateTopic[];
  /** The calls that messages lead to: they come to rest before partitions go to another process. */
  calls: CallSlots;
  /** Real milliseconds between the beginnings of two transactions of a partition, unless one is full. */
  commitIntervalMs: number;
  /** Called before the first connection, until it succeeds: topics must exist to be subscribed. */
  prepare: (signal: AbortSignal, report: (problem: string) => void) => Promise<void>;
}
