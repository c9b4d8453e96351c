import { createRequire } from 'node:module';
import { isLeaderless, leaderNotAvailable } from './leaders.js';

export interface Sending<M = unknown> {
  logger: { error: (message: string, details: object) => void };
  cluster: Cluster;
  /** For messages that do not say where they belong. */
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
  /** 0 where it has the messages. */
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

/** The messages of one partition that are sent together. */
export interface Batch extends PartitionData {
  topic: string;
  partitions: number;
  /** What the broker answered when it did not take them; undefined where it has answered nothing. */
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
/** A topic that is unknown for longer is gone, rather than new: what else waits for its sender must not wait for it. */
const RETRIES_OF_UNKNOWN = 5;
/** What other brokers may know better by now. */
const STALE_METADATA: readonly (string | undefined)[] = [
  UNKNOWN_TOPIC,
  'LEADER_NOT_AVAILABLE',
  'NOT_LEADER_FOR_PARTITION',
  'KafkaJSMetadataNotLoaded',
  'KafkaJSConnectionError',
  'KafkaJSConnectionClosedError',
  'KafkaJSRequestTimeoutError',
];

/** By the error that a send ended with: what it could not send. */
const leftBy = new WeakMap<Error, readonly Batch[]>();

/** What no broker has taken of a send that ended with this error; undefined before it was shared out. */
export function unsentBatches(error: unknown): readonly Batch[] | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const unsent = leftBy.get(cause);
    if (unsent !== undefined) return unsent;
  }
  return undefined;
}

/**
 * What sends the messages of one producer, and tries again what no broker has taken yet. kafkajs remembers the brokers
 * that have answered in place of the partitions: what comes under the lead of such a one is never sent, and counts
 * as acknowledged. And it tries again while other brokers still work on their part: they get it twice.
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
  /** By partition, as they were shared out first; undefined before that. */
  private unsent: Set<Batch> | undefined;
  private readonly answers: object[] = [];

  constructor(
    private readonly sending: Sending,
    private readonly request: SendRequest,
  ) {}

  /** @throws what makes it worth another attempt; anything else goes to `bail` */
  async attempt(bail: (error: unknown) => void, turn: Turn): Promise<object[]> {
    const { cluster } = this.sending;
    await cluster.addMultipleTargetTopics(this.request.topicMessages.map(({ topic }) => topic));
    try {
      await cluster.refreshMetadataIfNecessary();
      this.unsent ??= this.share();
      await this.sendToLeaders(this.unsent);
    } catch (error) {
      this.noteUnsent(error);
      if (await this.mayPass(error as SendError, turn)) throw error;
      bail(error);
    }
    return this.answers;
  }

  private share(): Set<Batch> {
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
    // what another broker is still at must not be sent once more
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

  /** Whether another attempt may do; the cluster knows better before that if need be. */
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

/** Where a message says itself where it belongs. */
interface Placed {
  partition?: number;
}

export interface Sharing<M> {
  topic: string;
  partitionMetadata: readonly unknown[];
  messages: readonly M[];
  /** For those that do not say where they belong. */
  partitioner: Sending<M>['partitioner'];
}

/**
 * Messages by partition in their order. kafkajs makes a new list for each message, and drops those of a partition that
 * is not there, or not known yet. @throws Error which passes when the partition comes to be known
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

/** Leaves the answer as it is, errors of single partitions included: those of the others stand. */
export function parseProduced(answer: Produced): Promise<Produced> {
  return Promise.resolve(answer);
}

/**
 * Sends batches to the leader of their partitions in one request, numbered on so that it takes each once. What it has
 * not taken gives its numbers back, and has the reason in its `refusal`. Returns the answers for the rest.
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
      refusals.set(placeOf(topicName, partition), createErrorFromCode(errorCode));
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
