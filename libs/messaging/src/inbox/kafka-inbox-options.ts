import { type Kafka } from 'kafkajs';
import { type KeyedStateTopic } from '../keyed-state/keyed-state-topic.js';
import { type DeadLetters } from '../outbox/dead-letters.js';

export interface KafkaInboxOptions {
  kafka: Kafka;
  groupId: string;
  topicPrefix: string;
  deadLetters: Pick<DeadLetters, 'publish'>;
  /** Topics that hold the bridge's own state, shared out with the input topics. */
  stateTopics: readonly KeyedStateTopic[];
  /** Called before the first connection, until it succeeds: topics must exist to be subscribed. */
  prepare: (signal: AbortSignal, report: (problem: string) => void) => Promise<void>;
}
