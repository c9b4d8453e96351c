import { createRequire } from 'node:module';
import { realDelayMs } from '#libs/clock';
import './index.js';
import { Partitioners } from './index.js';
import fc from 'fast-check';
import { groupMessages } from './send-messages.js';

const require = createRequire(import.meta.url);
/** With what is exchanged: kafkajs has been loaded before. */
const createSend = require('kafkajs/src/producer/sendMessages.js') as (
  options: object,
) => (request: object) => Promise<unknown>;
const createRetry = require('kafkajs/src/retry/index.js') as (options: object) => unknown;
const { createErrorFromCode } = require('kafkajs/src/protocol/error.js') as {
  createErrorFromCode: (code: number) => Error;
};

const UNKNOWN_TOPIC_OR_PARTITION = 3;
const NOT_LEADER = 6;
const MESSAGE_TOO_LARGE = 10;
const NOT_ENOUGH_REPLICAS = 19;
const CONCURRENT_TRANSACTIONS = 51;
const TOPIC = 'outcomes';
interface Message {
  key: string | null;
  value: string | null;
  partition?: number;
}
interface Produced {
  topicData: {
    topic: string;
    partitions: { partition: number; messages: Message[]; firstSequence: number }[];
  }[];
}

/** Two brokers that share a topic's partitions, and a producer that may know an earlier state of that. */
class TwoBrokers {
  readonly log: string[] = [];
  private readonly sequences = [0, 0];
  private readonly tries: string[] = [];
  private leaders: number[];
  private known: number[];
  private heldUp: { nodeId: number; ms: number } | undefined;
  private failure: { nodeId: number; code: number } | undefined;
  private refused: { partition: number; code: number } | undefined;
  private unknownFor = 0;
  private readonly brokers = [1, 2].map((nodeId) => ({
    nodeId,
    produce: (request: Produced) => this.produce(nodeId, request),
  }));

  constructor(...leaders: number[]) {
    this.leaders = leaders;
    this.known = leaders;
  }

  move(...leaders: number[]): void {
    this.leaders = leaders;
  }

  failOnce(nodeId: number, code: number): void {
    this.failure = { nodeId, code };
  }

  /** Refuses the records of a partition in the answer of its leader. */
  refuse(partition: number, code: number): void {
    this.refused = { partition, code };
  }

  /** Answers so many requests for the topic's metadata that there is no such topic. */
  forgetTopic(requests: number): void {
    this.unknownFor = requests;
  }

  holdUp(nodeId: number, ms: number): void {
    this.heldUp = { nodeId, ms };
  }

  /** Each partition with its first sequence numbers. */
  get numbered(): string[] {
    return [...this.tries].sort();
  }

  send(messages: Message[]): Promise<unknown> {
    const silent = () => undefined;
    const send = createSend({
      logger: { debug: silent, error: silent },
      cluster: this.cluster(),
      partitioner: Partitioners.DefaultPartitioner(),
      retrier: createRetry({ retries: 10, initialRetryTime: 1 }),
      eosManager: {
        isTransactional: () => false,
        getSequence: (_topic: string, partition: number) => this.sequences[partition],
        updateSequence: (_topic: string, partition: number, count: number) => {
          this.sequences[partition]! += count;
        },
        getProducerId: () => -1,
        ...{ getProducerEpoch: () => 0, acquireBrokerLock: silent, releaseBrokerLock: silent },
      },
    });
    return send({ acks: -1, topicMessages: [{ topic: TOPIC, messages }] });
  }

  private cluster(): object {
    const soon = () => Promise.resolve();
    return {
      ...{ isConnected: () => true, refreshMetadataIfNecessary: soon },
      addMultipleTargetTopics: () => {
        this.unknownFor -= 1;
        const isKnown = this.unknownFor < 0;
        return isKnown ? soon() : Promise.reject(createErrorFromCode(UNKNOWN_TOPIC_OR_PARTITION));
      },
      refreshMetadata: () => Promise.resolve((this.known = this.leaders)),
      findTopicPartitionMetadata: () =>
        this.known.map((leader, partitionId) => ({ partitionId, leader })),
      findLeaderForPartitions: (_topic: string, partitions: string[]) => this.share(partitions),
      findBroker: ({ nodeId }: { nodeId: string }) => this.brokers[Number(nodeId) - 1],
    };
  }

  private share(partitions: readonly string[]): Record<number, number[]> {
    const shares: Record<number, number[]> = {};
    for (const partition of partitions.map(Number)) {
      (shares[this.known[partition]!] ??= []).push(partition);
    }
    return shares;
  }

  private async produce(nodeId: number, { topicData }: Produced): Promise<object> {
    if (this.heldUp?.nodeId === nodeId) await realDelayMs(this.heldUp.ms);
    const parts = topicData.flatMap(({ partitions }) => partitions);
    for (const { partition, firstSequence } of parts) {
      this.tries.push(`${partition}: ${firstSequence}`);
    }
    if (parts.some(({ partition }) => this.leaders[partition] !== nodeId)) {
      throw createErrorFromCode(NOT_LEADER);
    }
    if (this.failure?.nodeId === nodeId) {
      const { code } = this.failure;
      this.failure = undefined;
      throw createErrorFromCode(code);
    }
    for (const { messages } of parts) this.log.push(...messages.map(({ value }) => String(value)));
    const codeOf = (partition: number): number =>
      this.refused?.partition === partition ? this.refused.code : 0;
    const partitions = parts.map(({ partition }) => ({ partition, errorCode: codeOf(partition) }));
    return { topics: [{ topicName: TOPIC, partitions }] };
  }
}

const both = [
  { key: null, value: 'dead letter', partition: 0 },
  { key: null, value: 'outcome', partition: 1 },
];

describe('records for partitions of several leaders', () => {
  it('are sent to a broker that has answered, when it becomes the leader of their partition', async () => {
    const brokers = new TwoBrokers(1, 2);
    brokers.move(2, 2);
    const answers = await brokers.send(both);
    expect(brokers.log.sort()).toEqual(['dead letter', 'outcome']);
    expect(answers).toHaveLength(2);
  });

  it('are not sent again to a broker that is still writing them when another fails', async () => {
    const brokers = new TwoBrokers(1, 2);
    brokers.failOnce(1, CONCURRENT_TRANSACTIONS);
    brokers.holdUp(2, 50);
    await brokers.send(both);
    expect(brokers.log.sort()).toEqual(['dead letter', 'outcome']);
  });

  it('without a key keep their first partition when they are retried', async () => {
    const brokers = new TwoBrokers(1, 2);
    brokers.failOnce(1, NOT_ENOUGH_REPLICAS);
    await brokers.send(['a', 'b', 'c'].map((value) => ({ key: null, value })));
    expect(brokers.log.sort()).toEqual(['a', 'b', 'c']);
  });

  it('are sent although another partition has no leader, and its records once it has one', async () => {
    const brokers = new TwoBrokers(1, -1);
    brokers.move(1, 2);
    await brokers.send(both);
    expect(brokers.log).toEqual(['dead letter', 'outcome']);
    expect(brokers.numbered).toEqual(['0: 0', '1: 0']);
  });

  it('are given up when one is refused permanently', async () => {
    const brokers = new TwoBrokers(1, 2);
    brokers.failOnce(1, MESSAGE_TOO_LARGE);
    await expect(brokers.send(both)).rejects.toMatchObject({ type: 'MESSAGE_TOO_LARGE' });
    expect(brokers.log).toEqual(['outcome']);
  });

  it('are given up with the topic that refuses them, as a transaction may write to several', async () => {
    const brokers = new TwoBrokers(1, 2);
    brokers.refuse(1, MESSAGE_TOO_LARGE);
    const cause = { type: 'MESSAGE_TOO_LARGE', topic: TOPIC };
    await expect(brokers.send(both)).rejects.toMatchObject(cause);
  });

  it('are sent to a topic that brokers know in a moment, and given up soon if it is deleted', async () => {
    const brokers = new TwoBrokers(1, 2);
    brokers.forgetTopic(3);
    await brokers.send(both);
    expect(brokers.log.sort()).toEqual(['dead letter', 'outcome']);
    brokers.forgetTopic(7);
    const sent = brokers.send(both);
    await expect(sent).rejects.toMatchObject({ type: 'UNKNOWN_TOPIC_OR_PARTITION' });
  });

  it('have sequence numbers that advance only with stored records', async () => {
    const brokers = new TwoBrokers(1, 2);
    brokers.failOnce(1, NOT_ENOUGH_REPLICAS);
    await brokers.send(both);
    await brokers.send(both);
    expect(brokers.numbered).toEqual(['0: 0', '0: 0', '0: 1', '1: 0', '1: 1']);
  });
});

const groupByKafkajs =
  require('kafkajs/src/producer/groupMessagesPerPartition.js') as typeof groupMessages<{
    partition: number;
  }>;

describe('the grouping of messages by partition', () => {
  it('is that of kafkajs', () => {
    expect(groupByKafkajs).not.toBe(groupMessages);
    const messages = fc.array(fc.record({ hash: fc.nat({ max: 7 }), value: fc.string() }));
    fc.assert(
      fc.property(messages, fc.integer({ min: 1, max: 2 }), (hashed, partitions) => {
        const given = hashed.map((each) => ({ ...each, partition: each.hash % partitions }));
        const sharing = {
          topic: 'a-topic',
          partitionMetadata: Array.from({ length: partitions }, (_, partitionId) => partitionId),
          messages: given,
          partitioner: ({ message }: { message: { partition: number } }) => message.partition,
        };
        expect(groupMessages(sharing)).toEqual(groupByKafkajs(sharing));
      }),
    );
  });

  it('does not drop messages for an unknown partition', () => {
    const sharing = {
      ...{ topic: 'a-topic', partitionMetadata: [{}, {}], messages: [{ partition: 2 }] },
      partitioner: ({ message }: { message: { partition: number } }) => message.partition,
    };
    expect(() => groupMessages(sharing)).toThrow('a-topic has 2 partitions, and no 2');
  });
});
