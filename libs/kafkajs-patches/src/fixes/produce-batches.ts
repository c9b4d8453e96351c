import { createRequire } from 'node:module';

/** As much of kafkajs as a send goes through. */
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
  /** How many partitions the topic has. */
  partitions: number;
  /** What the broker answered when it did not take them; undefined where it has answered nothing. */
  refusal?: Error;
}

const { createErrorFromCode } = createRequire(import.meta.url)('kafkajs/src/protocol/error.js') as {
  createErrorFromCode: (code: number) => Error;
};

/** Leaves the answer as it is, errors of single partitions included: those of the others stand. */
export function parseProduced(answer: Produced): Promise<Produced> {
  return Promise.resolve(answer);
}

/**
 * Sends batches to the broker that leads their partitions, in one request. They are numbered on from what was sent
 * before, so that the broker takes each once; what it has not taken gives its numbers back, and has the reason in
 * its `refusal`.
 *
 * @returns the broker's answers for what it has taken
 */
export async function produceBatches(
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
