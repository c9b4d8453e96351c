import {
  type Broker,
  type PartitionData,
  type Produced,
  type Sending,
  type SendRequest,
  type TopicData,
} from './sending.js';

/** The messages of one partition that are sent together. */
export type Batch = PartitionData & { topic: string };

/**
 * Sends batches to the broker that leads their partitions, in one request. They are numbered on from what was sent
 * before, so that the broker takes each once; what it has not taken gives its numbers back.
 */
export async function produceBatches(
  { eosManager }: Sending,
  { acks, timeout, compression }: SendRequest,
  broker: Broker,
  batches: readonly Batch[],
): Promise<Produced> {
  const topicData = byTopic(batches);
  const isTransactional = eosManager.isTransactional();
  if (isTransactional) await eosManager.addPartitionsToTransaction(topicData);
  for (const { topic, partitions } of topicData) {
    for (const entry of partitions) {
      entry.firstSequence = eosManager.getSequence(topic, entry.partition);
      eosManager.updateSequence(topic, entry.partition, entry.messages.length);
    }
  }
  try {
    return await broker.produce({
      transactionalId: isTransactional ? eosManager.getTransactionalId() : undefined,
      producerId: eosManager.getProducerId(),
      producerEpoch: eosManager.getProducerEpoch(),
      ...{ acks, timeout, compression, topicData },
    });
  } catch (error) {
    for (const { topic, partition, messages } of batches) {
      eosManager.updateSequence(topic, partition, -messages.length);
    }
    throw error;
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
