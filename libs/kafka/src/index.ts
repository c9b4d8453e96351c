export { deleteCommitted, MayNotDeleteError } from './client/delete-committed.js';
export { describeKafkaFailure } from './client/describe-kafka-failure.js';
export {
  ensureTopics,
  MissingTopicsError,
  type TopicSpecification,
} from './client/ensure-topics.js';
export { createKafka, type KafkaClient } from './client/kafka-client.js';
export { partitionCount } from './client/partition-count.js';
export { isForbiddenTopic } from './client/protocol-error.js';
export { type InboundMessage, type WhenRefused } from './consumer/inbound-message.js';
export { type InboundRecord } from './reading/inbound-record.js';
export { type KafkaConsumerOptions } from './consumer/kafka-consumer.js';
export { KafkaConsumerStrategy } from './consumer/kafka-consumer.strategy.js';
export { PartitionOwnership } from './consumer/partition-ownership.js';
export { type ConsumerState } from './consumer/supervised-consumer.js';
export {
  type KeyedStateOptions,
  type OwnedState,
  type StateChange,
} from './keyed-state/keyed-state-options.js';
export { KeyedState, type KeyedStateTopic } from './keyed-state/keyed-state-topic.js';
export { type DeadLetterReason, DeadLetters } from './producer/dead-letters.js';
export { IdempotentProducer } from './producer/idempotent-producer.js';
export { type OutboundRecord } from './producer/outbound-record.js';
export { partitionOf } from './producer/partition-of.js';
export { RecordRefusedError, refusalOf } from './producer/record-refused.js';
export { type FollowedTopic, type FollowState, followTopics } from './reading/follow-topics.js';
export { readRecords, type RecordPlace } from './reading/read-records.js';
export { readSince } from './reading/read-since.js';
export { readSpans } from './reading/read-spans.js';
export { type StoredRecord } from './reading/stored-record.js';
export { topicNames, type TopicSpan, topicSpans } from './reading/topic-span.js';
