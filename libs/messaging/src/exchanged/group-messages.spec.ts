import { createRequire } from 'node:module';
import fc from 'fast-check';
import { groupMessages } from './group-messages.js';

const byKafkajs = createRequire(import.meta.url)(
  'kafkajs/src/producer/groupMessagesPerPartition.js',
) as typeof groupMessages<{ partition: number }>;

describe('the grouping of messages by partition', () => {
  it('is that of kafkajs', () => {
    expect(byKafkajs).not.toBe(groupMessages);
    const messages = fc.array(fc.record({ hash: fc.nat({ max: 7 }), value: fc.string() }));
    fc.assert(
      fc.property(messages, fc.nat({ max: 2 }), (hashed, partitions) => {
        const given = hashed.map((each) => ({ ...each, partition: each.hash % partitions }));
        const sharing = {
          topic: 'a-topic',
          partitionMetadata: Array.from({ length: partitions }, (_, partitionId) => partitionId),
          messages: given,
          partitioner: ({ message }: { message: { partition: number } }) => message.partition,
        };
        expect(groupMessages(sharing)).toEqual(byKafkajs(sharing));
      }),
    );
  });

  it('drops nothing that is for a partition the topic has not', () => {
    const sharing = {
      ...{ topic: 'a-topic', partitionMetadata: [{}, {}], messages: [{ partition: 2 }] },
      partitioner: ({ message }: { message: { partition: number } }) => message.partition,
    };
    expect(() => groupMessages(sharing)).toThrow('a-topic has 2 partitions, and no 2');
  });
});
