import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { jest } from '@jest/globals';
import { realDelayMs } from '#libs/clock';
import { type Admin, ConfigResourceTypes, Kafka, logLevel } from '#libs/kafkajs-patches';
import { sendWithStock, stockKafka, testBrokers } from '../testing/stock-client.js';
import { ensureTopics, type TopicSpecification } from '../client/ensure-topics.js';
import { deleteCommitted, groupOffsets, MayNotDeleteError } from './group-offsets.js';

interface BrokerClass {
  prototype: { offsetFetch: () => Promise<unknown> };
}
const require = createRequire(import.meta.url);
const { prototype: broker } = require('kafkajs/src/broker/index.js') as BrokerClass;
const { createErrorFromCode } = require('kafkajs/src/protocol/error.js') as {
  createErrorFromCode: (code: number) => Error;
};
const NOT_COORDINATOR = 16;
const COORDINATOR_LOADING = 14;

describe('what a group is done with', () => {
  const kafka = new Kafka({ brokers: testBrokers, logLevel: logLevel.NOTHING });
  let admin: Admin;
  let groupId: string;

  beforeEach(async () => {
    groupId = `test-${randomUUID().slice(0, 8)}`;
    admin = stockKafka.admin();
    await admin.connect();
    // A broker that has just started is still loading its groups.
    for (let isLoaded = false; !isLoaded;) {
      isLoaded = await admin.fetchOffsets({ groupId }).then(
        () => true,
        () => realDelayMs(100).then(() => false),
      );
    }
  });

  afterEach(() => admin.disconnect());

  /** Five records in each of two partitions. */
  const topicOf = async (cleanupPolicy: TopicSpecification['cleanupPolicy']): Promise<string> => {
    const name = `${groupId}.queue`;
    await ensureTopics(kafka, [{ name, cleanupPolicy }], { create: true, partitions: 2 });
    const messages = Array.from({ length: 10 }, (_, index) => {
      return { partition: index % 2, key: String(index), value: 'x' };
    });
    await sendWithStock(name, ...messages);
    return name;
  };

  const commit = (topic: string, partition: number, offset: string): Promise<void> =>
    admin.setOffsets({ groupId, topic, partitions: [{ partition, offset }] });

  const begins = async (topic: string): Promise<number[]> => {
    const spans = await admin.fetchTopicOffsets(topic);
    return spans.sort((a, b) => a.partition - b.partition).map(({ low }) => Number(low));
  };

  it('is known once the coordinator of the group is ready', async () => {
    const topic = await topicOf('delete');
    await commit(topic, 1, '3');
    const fetch = jest.spyOn(broker, 'offsetFetch');
    for (const code of [NOT_COORDINATOR, COORDINATOR_LOADING])
      fetch.mockRejectedValueOnce(createErrorFromCode(code));
    const offsets = await groupOffsets(kafka, groupId, [topic]);
    expect(offsets.map(({ committed }) => committed)).toEqual([null, 3]);
  });

  it('is deleted from a topic without retention, and nothing else is', async () => {
    const topic = await topicOf('compact,delete');
    await deleteCommitted(kafka, groupId, topic);
    expect(await begins(topic)).toEqual([0, 0]);
    await commit(topic, 1, '3');
    await deleteCommitted(kafka, groupId, topic);
    expect(await begins(topic)).toEqual([0, 3]);
    // An offset set back deletes nothing, nor does one of a former topic: the current records are not finished.
    await commit(topic, 0, '1000');
    await commit(topic, 1, '1');
    await deleteCommitted(kafka, groupId, topic);
    expect(await begins(topic)).toEqual([0, 3]);
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [
        {
          type: ConfigResourceTypes.TOPIC,
          name: topic,
          configNames: ['retention.ms', 'retention.bytes'],
        },
      ],
    });
    const limits = resources.flatMap(({ configEntries }) => configEntries);
    expect(limits.map(({ configValue }) => configValue)).toEqual(['-1', '-1']);
  });

  it('stays in a compacted topic, which is reported before there is anything to delete', async () => {
    const topic = await topicOf('compact');
    const deleting = deleteCommitted(kafka, groupId, topic);
    await expect(deleting).rejects.toThrow(MayNotDeleteError);
    await expect(deleting).rejects.toMatchObject({ topic, why: 'POLICY_VIOLATION' });
  });
});
