import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ensureTopics } from './ensure-topics.js';
import type { KafkaClient, TopicConfig } from './kafka-port.js';

/** A cluster without a topic, and the requests to create some. */
function emptyCluster(): { kafka: KafkaClient; requests: TopicConfig[][] } {
  const requests: TopicConfig[][] = [];
  const leaders = (count = 0) => Array.from({ length: count }, () => ({ leader: 1 }));
  const admin = {
    connect: () => Promise.resolve(),
    disconnect: () => Promise.resolve(),
    createTopics: ({ topics }: { topics: TopicConfig[] }) => Promise.resolve(requests.push(topics)),
    fetchTopicMetadata: () => {
      const created = requests.flat();
      const topics = created.map(({ topic, numPartitions }) => {
        return { name: topic, partitions: leaders(numPartitions) };
      });
      return Promise.resolve({ topics });
    },
  };
  return { kafka: { admin: () => admin } as unknown as KafkaClient, requests };
}

describe('ensureTopics', () => {
  beforeEach(() => {
    jest.spyOn(Logger.prototype, 'log').mockReturnValue(undefined);
  });

  it.each([
    [6, [24]],
    [1000, [9, 9, 6]],
    [9000, Array.from({ length: 24 }, () => 1)],
  ])('creates topics of %i partitions in requests that Kafka takes', async (partitions, counts) => {
    const { kafka, requests } = emptyCluster();
    const names = Array.from({ length: 24 }, (_, index) => `topic-${index}`);
    const topics = names.map((name) => ({ name, cleanupPolicy: 'delete' as const }));
    await ensureTopics(kafka, topics, { create: true, partitions });
    expect(requests.map(({ length }) => length)).toEqual(counts);
    expect(requests.flat().map(({ topic }) => topic)).toEqual(names);
  });
});
