/**
 * Kafka for all libs and apps; only this lib imports kafkajs. Folders import only those below them in this list:
 *
 * - `consumer` takes input messages from their fetch to their end. It owns the membership in the group and the
 *   assigned partitions of input topics. A message is *waiting* (fetched), *in flight* (with its controller), then
 *   *finished* in a transaction or *abandoned*. A partition hands messages over once the progress of earlier owners is
 *   read and its state restored; it is *paused* while its buffer is full, and *revoked* when the group assigns it to
 *   another process.
 * - `keyed-state` keeps state in compacted topics, one for each kind. A partition is *fencing*, *restoring*, *owned*;
 *   a write whose result is unknown leads back to *fencing* (`keyed-state-partition.ts`).
 * - `producer` writes records, idempotently or in transactions. What a message leads to is committed with the offset
 *   of its partition, whose transactions are *fencing*, *reading progress*, *running*, *closed*
 *   (`partition-transactions.ts`). It owns the shape of dead letters.
 * - `reading` reads topics from one end to the other, or follows them. It commits no offsets.
 * - `client` owns the connection settings, the creation of topics, and the description of failures for an operator.
 */
export { describeKafkaFailure } from './client/describe-kafka-failure.js';
export { describeTopics, refusedTopics, type TopicDescription } from './client/describe-topics.js';
export {
  deniedTopics,
  ensureTopics,
  MissingTopicsError,
  type TopicSpecification,
} from './client/ensure-topics.js';
export { type ConfiguredKafka, createKafka } from './client/kafka-client.js';
export { type KafkaClient } from './client/kafka-port.js';
export { handleEach, type InboundMessage, type WhenRefused } from './consumer/inbound-message.js';
export {
  deleteCommitted,
  describeGroup,
  type GroupOffset,
  groupOffsets,
  MayNotDeleteError,
  offsetsSince,
  setGroupOffsets,
} from './consumer/group-offsets.js';
export { KafkaConsumer, KafkaConsumerStrategy } from './consumer/kafka-consumer.js';
export {
  type InputState,
  type KeyedStateOptions,
  type StateChange,
  type TransactedState,
} from './keyed-state/keyed-state-partition.js';
export { KeyedState, type KeyedStateTopic } from './keyed-state/keyed-state-topic.js';
export { type DeadLetterReason, DeadLetters } from './producer/dead-letters.js';
export { IdempotentProducer } from './producer/idempotent-producer.js';
export {
  byteLength,
  MAX_RECORD_BYTES,
  type OutboundRecord,
  partitionOf,
  RecordRefusedError,
  refusalOf,
} from './producer/outbound-record.js';
export { TransactionalWriter } from './producer/transactional-writer.js';
export { type FollowedTopic, type FollowState, followTopics } from './reading/follow-topics.js';
export { readRecords, readSpans } from './reading/read-spans.js';
export {
  type InboundRecord,
  type RecordPlace,
  type StoredRecord,
} from './reading/stored-record.js';
export {
  latestSpans,
  partitionCount,
  topicNames,
  type TopicSpan,
  topicSpans,
  uncommittedSpans,
} from './reading/topics.js';
