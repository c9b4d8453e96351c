import { createRequire } from 'node:module';
import { isLeaderless, leaderNotAvailable } from './cluster.js';

export interface Sending<M = unknown> {
  logger: { error: (message: string, details: object) => void };
  cluster: Cluster;
  /** For messages without a partition. */
  partitioner: (choice: {
    topic: string;
    partitionMetadata: readonly unknown[];
    message: M;
  }) => number;
  eosManager: EosManager;
  retrier: <T>(attempt: (bail: (error: unknown) => void, ...turn: Turn) => T) => T;
}

interface Broker {
  nodeId: string | number;
  /** Resolves with undefined without acknowledgements. */
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

/** Sequence numbers and transaction of a producer. */
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

interface SendRequest {
  acks: number;
  timeout?: number;
  compression?: number;
  topicMessages: readonly { topic: string; messages: readonly unknown[] }[];
}

type Turn = [count: number, timeMs: number];
interface Produced {
  topics: readonly { topicName: string; partitions: readonly ProducedPartition[] }[];
}
interface ProducedPartition {
  partition: number;
  /** 0 if the messages are stored. */
  errorCode: number;
}
interface PartitionData {
  partition: number;
  messages: readonly unknown[];
  firstSequence?: number;
}
interface TopicData {
  topic: string;
  partitions: PartitionData[];
}

/** Messages of one partition that are sent together. */
export interface Batch extends PartitionData {
  topic: string;
  partitions: number;
  /** The broker's refusal, with the `topic`; undefined if it has not answered. */
  refusal?: Error;
}

const require = createRequire(import.meta.url);
const { KafkaJSMetadataNotLoaded } = require('kafkajs/src/errors.js') as {
  KafkaJSMetadataNotLoaded: new (message: string) => Error;
};
const { createErrorFromCode } = require('kafkajs/src/protocol/error.js') as {
  createErrorFromCode: (code: number) => Error;
};

type SendError = Error & { host: string; port: number; type?: string; retriable?: boolean };

const UNKNOWN_TOPIC = 'UNKNOWN_TOPIC_OR_PARTITION';
/** A topic that is unknown for longer is deleted rather than new: other records of its sender must not wait for it. */
const RETRIES_OF_UNKNOWN = 5;
/** Errors after which other brokers may have newer metadata. */
const STALE_METADATA: readonly (string | undefined)[] = [
  UNKNOWN_TOPIC,
  'LEADER_NOT_AVAILABLE',
  'NOT_LEADER_FOR_PARTITION',
  'KafkaJSMetadataNotLoaded',
  'KafkaJSConnectionError',
  'KafkaJSConnectionClosedError',
  'KafkaJSRequestTimeoutError',
];

/** Unsent batches by the error of their send. */
const leftBy = new WeakMap<Error, readonly Batch[]>();

/** Batches of a failed send that no broker has acknowledged; undefined before they were assigned to partitions. */
export function unsentBatches(error: unknown): readonly Batch[] | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const unsent = leftBy.get(cause);
    if (unsent !== undefined) return unsent;
  }
  return undefined;
}

/**
 * Creates the function that sends a producer's messages and retries unacknowledged ones. kafkajs remembers the
 * brokers that have answered, not the partitions: records of a partition that moves to such a broker are never sent,
 * and count as acknowledged. And it retries while other brokers still write, which stores records twice.
 */
export function createSendMessages(sending: Sending): (request: SendRequest) => Promise<object[]> {
  return (request) => {
    const send = new Send(sending, request);
    return sending.retrier(async (bail, ...turn) => {
      try {
        return await send.attempt(bail, turn);
      } catch (error) {
        const [retryCount] = turn;
        if ((error as SendError).type !== UNKNOWN_TOPIC || retryCount < RETRIES_OF_UNKNOWN)
          throw error;
        bail(error);
        return [];
      }
    });
  };
}

class Send {
  /** Unacknowledged batches, as first assigned to partitions; undefined before that. */
  private unsent: Set<Batch> | undefined;
  private readonly answers: object[] = [];

  constructor(
    private readonly sending: Sending,
    private readonly request: SendRequest,
  ) {}

  /** @throws an error that another attempt may clear; passes other errors to `bail` */
  async attempt(bail: (error: unknown) => void, turn: Turn): Promise<object[]> {
    const { cluster } = this.sending;
    await cluster.addMultipleTargetTopics(this.request.topicMessages.map(({ topic }) => topic));
    try {
      await cluster.refreshMetadataIfNecessary();
      this.unsent ??= this.assignToPartitions();
      await this.sendToLeaders(this.unsent);
    } catch (error) {
      this.noteUnsent(error);
      if (await this.mayPass(error as SendError, turn)) throw error;
      bail(error);
    }
    return this.answers;
  }

  private assignToPartitions(): Set<Batch> {
    const { cluster, partitioner } = this.sending;
    const batches = this.request.topicMessages.flatMap(({ topic, messages }) => {
      const partitionMetadata = cluster.findTopicPartitionMetadata(topic);
      if (partitionMetadata.length === 0) throw notLoaded(topic);
      const groups = groupMessages({ topic, partitionMetadata, messages, partitioner });
      return Object.entries(groups).map(([partition, group]): Batch => {
        const { length: partitions } = partitionMetadata;
        return { topic, partition: Number(partition), partitions, messages: group };
      });
    });
    return new Set(batches);
  }

  private async sendToLeaders(unsent: ReadonlySet<Batch>): Promise<void> {
    const byLeader = new Map<string, Batch[]>();
    for (const batch of unsent) {
      const { topic, partition } = batch;
      const leaders = this.sending.cluster.findLeaderForPartitions(topic, [partition]);
      const [leader] = Object.keys(leaders);
      if (leader === undefined) throw notLoaded(topic);
      byLeader.set(leader, [...(byLeader.get(leader) ?? []), batch]);
    }
    const sends = [...byLeader].map(([nodeId, batches]) => this.sendTo(nodeId, batches));
    // A batch that another broker is still writing must not be sent again.
    const failed = (await Promise.allSettled(sends)).find(({ status }) => status === 'rejected');
    if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
  }

  private async sendTo(nodeId: string, batches: readonly Batch[]): Promise<void> {
    if (isLeaderless({ leader: Number(nodeId) })) throw leaderNotAvailable();
    const { cluster, eosManager } = this.sending;
    const broker = await cluster.findBroker({ nodeId });
    await eosManager.acquireBrokerLock(broker);
    try {
      this.answers.push(...(await produceBatches(this.sending, this.request, broker, batches)));
      for (const batch of batches) if (batch.refusal === undefined) this.unsent?.delete(batch);
    } finally {
      await eosManager.releaseBrokerLock(broker);
    }
    const refusal = batches.find((batch) => batch.refusal !== undefined)?.refusal;
    if (refusal !== undefined) throw refusal;
  }

  /** Whether another attempt may succeed; refreshes the cluster's metadata if need be. */
  private async mayPass(error: SendError, [retryCount, retryTime]: Turn): Promise<boolean> {
    const { cluster, logger } = this.sending;
    if (error.name === 'KafkaJSConnectionClosedError') cluster.removeBroker(error);
    const isConnected = cluster.isConnected();
    if (isConnected) {
      logger.error(`Failed to send messages: ${error.message}`, { retryCount, retryTime });
    }
    const isStale = STALE_METADATA.includes(error.type) || STALE_METADATA.includes(error.name);
    try {
      if (!isConnected) await cluster.connect();
      if (!isConnected || isStale) await cluster.refreshMetadata();
    } catch (failure) {
      this.noteUnsent(failure);
      throw failure;
    }
    return !isConnected || isStale || error.retriable === true;
  }

  private noteUnsent(error: unknown): void {
    if (this.unsent !== undefined) leftBy.set(error as Error, [...this.unsent]);
  }
}

function notLoaded(topic: string): Error {
  return new KafkaJSMetadataNotLoaded(`no partition, or not that one, is known of ${topic}`);
}

/** A message with an explicit partition. */
interface Placed {
  partition?: number;
}

export interface Sharing<M> {
  topic: string;
  partitionMetadata: readonly unknown[];
  messages: readonly M[];
  /** For messages without a partition. */
  partitioner: Sending<M>['partitioner'];
}

/**
 * Groups messages by partition, in order. kafkajs makes a new list for each message, and drops messages of an unknown
 * partition. @throws Error that passes once the partition is known
 */
export function groupMessages<M>(sharing: Sharing<M>): Record<number, M[]> {
  const { topic, partitionMetadata, messages, partitioner } = sharing;
  const groups: Record<number, M[]> = {};
  for (const message of messages) {
    const { partition = partitioner({ topic, partitionMetadata, message }) } = message as Placed;
    if (partition >= partitionMetadata.length) {
      throw new Error(`${topic} has ${partitionMetadata.length} partitions, and no ${partition}`);
    }
    (groups[partition] ??= []).push(message);
  }
  return groups;
}

/** Keeps the answer with the errors of single partitions: the results of the others stand. */
export function parseProduced(answer: Produced): Promise<Produced> {
  return Promise.resolve(answer);
}

/**
 * Sends batches to the leader of their partitions in one request, with sequence numbers so that it stores each once.
 * A refused batch returns its numbers and has the reason in `refusal`. Returns the answers for the others.
 */
async function produceBatches(
  { eosManager }: Sending,
  { acks, timeout, compression }: SendRequest,
  broker: Broker,
  batches: readonly Batch[],
): Promise<object[]> {
  const topicData = byTopic(batches);
  const isTransactional = eosManager.isTransactional();
  if (isTransactional) await eosManager.addPartitionsToTransaction(topicData);
  for (const { topic, partitions } of topicData) {
    for (const entry of partitions) {
      entry.firstSequence = eosManager.getSequence(topic, entry.partition);
      eosManager.updateSequence(topic, entry.partition, entry.messages.length);
    }
  }
  for (const batch of batches) delete batch.refusal;
  let answer: Produced | undefined;
  try {
    answer = await broker.produce({
      transactionalId: isTransactional ? eosManager.getTransactionalId() : undefined,
      producerId: eosManager.getProducerId(),
      producerEpoch: eosManager.getProducerEpoch(),
      ...{ acks, timeout, compression, topicData },
    });
  } catch (error) {
    giveNumbersBack(eosManager, batches);
    throw error;
  }
  if (acks === 0 || answer === undefined) return [];
  const refusals = refusalsIn(answer);
  for (const batch of batches) {
    const refusal = refusals.get(placeOf(batch.topic, batch.partition));
    if (refusal !== undefined) batch.refusal = refusal;
  }
  giveNumbersBack(
    eosManager,
    batches.filter(({ refusal }) => refusal !== undefined),
  );
  return answer.topics.flatMap(({ topicName, partitions }) =>
    partitions
      .filter(({ errorCode }) => errorCode === 0)
      .map((partition) => ({ topicName, ...partition })),
  );
}

function refusalsIn({ topics }: Produced): ReadonlyMap<string, Error> {
  const refusals = new Map<string, Error>();
  for (const { topicName, partitions } of topics) {
    for (const { partition, errorCode } of partitions) {
      if (errorCode === 0) continue;
      const refusal = Object.assign(createErrorFromCode(errorCode), { topic: topicName });
      refusals.set(placeOf(topicName, partition), refusal);
    }
  }
  return refusals;
}

function placeOf(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}

function giveNumbersBack(
  eosManager: Sending['eosManager'],
  batches: readonly Pick<Batch, 'topic' | 'partition' | 'messages'>[],
): void {
  for (const { topic, partition, messages } of batches) {
    eosManager.updateSequence(topic, partition, -messages.length);
  }
}

function byTopic(batches: readonly Batch[]): TopicData[] {
  const topics = new Map<string, TopicData>();
  for (const { topic, partition, messages } of batches) {
    const data = topics.get(topic) ?? { topic, partitions: [] };
    data.partitions.push({ partition, messages });
    topics.set(topic, data);
  }
  return [...topics.values()];
}
