import { createRequire } from 'node:module';
import fc from 'fast-check';
import { type PartitionMetadata } from 'kafkajs';
import { groupByPartition, type MessagesOfTopic } from './group-by-partition.js';

const byKafkajs = createRequire(import.meta.url)(
  'kafkajs/src/producer/groupMessagesPerPartition.js',
) as typeof groupByPartition;

const PARTITIONS = 4;

describe('the sharing out of messages', () => {
  it('is that of kafkajs', () => {
    const partitions = fc.array(fc.nat({ max: PARTITIONS - 1 }), { maxLength: 50 });
    expect(byKafkajs).not.toBe(groupByPartition);
    fc.assert(
      fc.property(partitions, fc.boolean(), (chosen, isTopicKnown) => {
        const messages = chosen.map((partition, index) => ({ value: String(index), partition }));
        const partitionMetadata = Array.from(
          { length: isTopicKnown ? PARTITIONS : 0 },
          (_, id) => ({
            partitionId: id,
          }),
        ) as PartitionMetadata[];
        const given: MessagesOfTopic = {
          ...{ topic: 'topic', partitionMetadata, messages },
          partitioner: ({ message }) => message.partition ?? 0,
        };
        expect(groupByPartition(given)).toEqual(byKafkajs(given));
      }),
    );
  });
});
