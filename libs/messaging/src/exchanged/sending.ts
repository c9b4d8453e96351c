import { type Sharing } from './group-messages.js';

/** As much of kafkajs as a send goes through. */
export interface Sending {
  logger: { error: (message: string, details: object) => void };
  cluster: Cluster;
  partitioner: Sharing<unknown>['partitioner'];
  eosManager: EosManager;
  retrier: <T>(attempt: (bail: (error: unknown) => void, ...turn: Turn) => T) => T;
}

export interface Broker {
  nodeId: string | number;
  /** Without acknowledgements it answers nothing. */
  produce: (request: object) => Promise<Produced | undefined>;
}

interface Cluster {
  isConnected: () => boolean;
  connect: () => Promise<void>;
  refreshMetadata: () => Promise<void>;
  refreshMetadataIfNecessary: () => Promise<void>;
  addMultipleTargetTopics: (topics: readonly string[]) => Promise<void>;
  removeBroker: (broker: { host: string; port: number }) => void;
  findTopicPartitionMetadata: (topic: string) => readonly unknown[];
  findLeaderForPartitions: (topic: string, partitions: readonly number[]) => object;
  findBroker: (broker: { nodeId: string }) => Promise<Broker>;
}

/** What keeps the sequence numbers of a producer, and its transaction. */
interface EosManager {
  isTransactional: () => boolean;
  getTransactionalId: () => string;
  getProducerId: () => unknown;
  getProducerEpoch: () => unknown;
  getSequence: (topic: string, partition: number) => number;
  updateSequence: (topic: string, partition: number, count: number) => void;
  addPartitionsToTransaction: (topicData: readonly TopicData[]) => Promise<void>;
  acquireBrokerLock: (broker: Broker) => Promise<void>;
  releaseBrokerLock: (broker: Broker) => unknown;
}

export interface SendRequest {
  acks: number;
  timeout?: number;
  compression?: number;
  topicMessages: readonly { topic: string; messages: readonly unknown[] }[];
}

export type Turn = [count: number, timeMs: number];
/** What a broker answers. */
export interface Produced {
  topics: readonly { topicName: string; partitions: readonly ProducedPartition[] }[];
}
interface ProducedPartition {
  partition: number;
  /** 0 where it has the messages. */
  errorCode: number;
}
export interface PartitionData {
  partition: number;
  messages: readonly unknown[];
  firstSequence?: number;
}
export interface TopicData {
  topic: string;
  partitions: PartitionData[];
}
