import { createRequire } from 'node:module';
import {
  type Broker,
  type PartitionData,
  type Produced,
  type Sending,
  type SendRequest,
  type TopicData,
} from './sending.js';

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
