import type { Kafka } from '#libs/kafkajs-patches';

/**
 * The Kafka client of this lib: kafkajs with its patches. Another one would have to provide:
 *
 * - membership in a group with our own assignor, and hooks before a member joins, syncs and leaves
 *   (`consumer/group-consumer.ts`);
 * - batches of one partition, with the offsets of records that are not messages; pause, resume and seek by partition;
 * - raw records: bytes of key and value, headers in order ({@link FetchedRecord});
 * - transactions of records and of offsets with metadata (`producer/transactional-writer.ts`);
 * - idempotent sends that return the unsent records of a failed one (`producer/idempotent-producer.ts`);
 * - administration of topics, offsets and groups.
 */
export type KafkaClient = Pick<Kafka, 'admin' | 'consumer' | 'producer'>;

/** Partitions that a rebalance has assigned to this process, by topic. */
export type PartitionAssignment = ReadonlyMap<string, readonly number[]>;

/** Control of the fetch of an assigned partition. */
export interface FetchControl {
  pause(topic: string, partition: number): void;
  resume(topic: string, partition: number): void;
  seek(topic: string, partition: number, offset: number): void;
}

/** The ends of a partition in a fetch's answer. */
export interface FetchedEnds {
  partition: number;
  highWatermark: string;
  lastStableOffset: string;
  /** Offset of the oldest remaining record, under kafkajs's name; older brokers do not send it. */
  lastStartOffset?: string;
}

export type {
  Admin,
  Batch,
  Consumer,
  FetchedRecord,
  ITopicConfig as TopicConfig,
  KafkaJSProtocolError,
  KafkaMessage,
  Message,
  Producer,
  ProducerBatch,
  TopicMessages,
  TopicPartition,
  Transaction,
  Unreadable,
} from '#libs/kafkajs-patches';
