import { type CallSlots } from '#libs/delivery';
import { type Kafka } from '../kafkajs.js';
import { type KeyedStateTopic } from '../keyed-state/keyed-state-topic.js';
import { type Outbox } from '../outbox/outbox.js';
import { type DeadLetters } from '../outbox/dead-letters.js';
import { type TakenOver } from './taken-over.js';

export interface KafkaInboxOptions {
  kafka: Kafka;
  groupId: string;
  topicPrefix: string;
  deadLetters: Pick<DeadLetters, 'publish'>;
  /** Where answers to messages go: they are out before partitions are given up. */
  outbox: Pick<Outbox, 'idle' | 'toldUntilMs'>;
  /** Topics that hold the bridge's own state, shared out with the input topics. */
  stateTopics: readonly KeyedStateTopic[];
  /** The calls that messages lead to: they come to rest before partitions go to another process. */
  calls: CallSlots;
  /**
   * Called with partitions that have come to this process, before a message of theirs is handed over:
   * what earlier owners have told of messages may be looked up. Must not reject.
   */
  recallTold?: (partitions: readonly TakenOver[], stopping: AbortSignal) => Promise<void>;
  /** Called before the first connection, until it succeeds: topics must exist to be subscribed. */
  prepare: (signal: AbortSignal, report: (problem: string) => void) => Promise<void>;
}
