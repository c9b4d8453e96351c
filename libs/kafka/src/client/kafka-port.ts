import type * as Kafkajs from '#libs/kafkajs-patches';

/**
 * What libs/kafka asks of a Kafka client. kafkajs with its patches is the only implementation; a move to another client
 * has to provide this part of it:
 *
 * - a group membership with an assignor of the bridge's own and calls before a member joins, syncs and leaves
 *   (`consumer/group-consumer.ts`);
 * - batches of one partition, with the offsets of records that are no message; pause, resume and seek by partition;
 * - raw records: bytes of key and value, headers in their order ({@link FetchedRecord});
 * - transactions of records and of offsets with metadata (`producer/transactional-writer.ts`);
 * - idempotent sends, with the records that a failed one has not sent (`producer/idempotent-producer.ts`);
 * - administration of topics, offsets and groups.
 */
export interface KafkaClient {
  admin(): Admin;
  consumer(config: Kafkajs.ConsumerConfig): Consumer;
  producer(config: Kafkajs.ProducerConfig): Producer;
}

/** The partitions that a rebalance has assigned to this process, by topic. */
export type PartitionAssignment = ReadonlyMap<string, readonly number[]>;

/** Control of the fetch of a partition that is assigned. */
export interface FetchControl {
  pause(topic: string, partition: number): void;
  resume(topic: string, partition: number): void;
  seek(topic: string, partition: number, offset: number): void;
}

/** As much of a fetch's answer about a partition as says from where, and how far, it can be read. */
export interface FetchedEnds {
  partition: number;
  highWatermark: string;
  lastStableOffset: string;
  /** Of the oldest record that is left, as kafkajs calls it; older brokers do not say it. */
  lastStartOffset?: string;
}

export type Admin = Pick<
  Kafkajs.Admin,
  | 'connect'
  | 'createPartitions'
  | 'createTopics'
  | 'deleteGroups'
  | 'deleteTopicRecords'
  | 'describeConfigs'
  | 'describeGroups'
  | 'disconnect'
  | 'fetchOffsets'
  | 'fetchTopicMetadata'
  | 'fetchTopicOffsets'
  | 'fetchTopicOffsetsByTimestamp'
  | 'listTopics'
  | 'setOffsets'
>;

export type Consumer = Pick<
  Kafkajs.Consumer,
  'connect' | 'disconnect' | 'events' | 'on' | 'pause' | 'resume' | 'run' | 'seek' | 'subscribe'
>;

export type Producer = Pick<
  Kafkajs.Producer,
  'connect' | 'disconnect' | 'sendBatch' | 'transaction'
>;

export type Transaction = Pick<
  Kafkajs.Transaction,
  'abort' | 'commit' | 'sendBatch' | 'sendOffsets'
>;

export type {
  Batch,
  FetchedRecord,
  ITopicConfig as TopicConfig,
  KafkaJSProtocolError,
  KafkaMessage,
  Message,
  TopicMessages,
  TopicPartition,
  Unreadable,
} from '#libs/kafkajs-patches';
