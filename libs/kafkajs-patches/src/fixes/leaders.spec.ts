import { createRequire } from 'node:module';
import { jest } from '@jest/globals';
import { realEpochMs } from '#libs/clock';
import '../index.js';
import { withOffsetsOfLed, withSoonLeaders } from './leaders.js';

const require = createRequire(import.meta.url);
interface Metadata {
  topicMetadata: object[];
}
/** With what is exchanged: kafkajs has been loaded before. */
const { parse } = require('kafkajs/src/protocol/requests/metadata/v6/response.js') as {
  parse: (answer: Metadata) => Promise<Metadata>;
};

const UNKNOWN_TOPIC_OR_PARTITION = 3;
const LEADER_NOT_AVAILABLE = 5;
const TOPIC_AUTHORIZATION_FAILED = 29;
const led = (partitionId: number) => ({ partitionErrorCode: 0, partitionId, leader: 1 });
const leaderless = (partitionId: number) => ({
  ...{ partitionErrorCode: LEADER_NOT_AVAILABLE, partitionId, leader: -1 },
});
const topic = (topic: string, ...partitionMetadata: object[]) => ({
  ...{ topicErrorCode: 0, topic, partitionMetadata },
});

describe('metadata', () => {
  it('hold partitions without a leader among the others', async () => {
    const answer = { topicMetadata: [topic('a', led(0), leaderless(1)), topic('b', led(0))] };
    await expect(parse(answer)).resolves.toEqual(answer);
  });

  it('are refused as before for any other error', async () => {
    const refused = { ...topic('a', leaderless(0)), topicErrorCode: TOPIC_AUTHORIZATION_FAILED };
    const type = 'TOPIC_AUTHORIZATION_FAILED';
    await expect(parse({ topicMetadata: [refused] })).rejects.toMatchObject({ type });
  });

  it.each([
    ['UNKNOWN_TOPIC_OR_PARTITION', 0],
    ['TOPIC_AUTHORIZATION_FAILED', TOPIC_AUTHORIZATION_FAILED],
  ])('name the topics that are missing where they are refused for %s', async (type, code) => {
    const missing = { ...topic('b'), topicErrorCode: UNKNOWN_TOPIC_OR_PARTITION };
    const first = { ...topic('a', led(0)), topicErrorCode: code };
    const refusal = { type, missingTopics: ['b'] };
    await expect(parse({ topicMetadata: [first, missing] })).rejects.toMatchObject(refusal);
  });

  it.each([
    ['a second', [led(0), leaderless(1)], 1000],
    ['the time that is set', [led(0), led(1)], 300_000],
  ])('are asked for again after %s', async (_, partitions, afterMs) => {
    class Pool {
      metadata: Metadata | null = null;
      metadataExpireAt: number | null = null;
      refreshMetadata(): Promise<unknown> {
        this.metadata = { topicMetadata: [topic('a', ...partitions)] };
        this.metadataExpireAt = realEpochMs() + 300_000;
        return Promise.resolve();
      }
    }
    const pool = new (withSoonLeaders(Pool as never) as unknown as typeof Pool)();
    const beforeMs = realEpochMs();
    await pool.refreshMetadata();
    expect(pool.metadataExpireAt! - beforeMs).toBeGreaterThanOrEqual(afterMs);
    expect(pool.metadataExpireAt! - realEpochMs()).toBeLessThanOrEqual(afterMs);
  });
});

describe('a request to any broker', () => {
  it('is made to the next one if a broker does not answer in time', async () => {
    jest.useFakeTimers();
    class Pool {
      getNodeIds = (): string[] => ['1', '2'];
      async withBroker(ask: (of: string) => Promise<string>): Promise<string> {
        return ask('1').catch(() => ask('2'));
      }
    }
    const pool = new (withSoonLeaders(Pool as never) as unknown as typeof Pool)();
    const asked = pool.withBroker((of) =>
      of === '1' ? new Promise(() => undefined) : Promise.resolve(of),
    );
    await jest.advanceTimersByTimeAsync(4000);
    expect(await asked).toBe('2');
    jest.useRealTimers();
  });
});

describe('offsets', () => {
  /** Partition 1 of a topic has no leader, until its offsets are asked for. */
  class Cluster {
    getNodeIds(): string[] {
      return ['1', '2'];
    }
    partitions: object[] = [led(0), leaderless(1)];
    asked: number[] = [];
    findTopicPartitionMetadata(): object[] {
      return this.partitions;
    }
    fetchTopicsOffset(
      topics: { topic: string; partitions: { partition: number }[] }[],
    ): Promise<object> {
      this.partitions = [led(0), led(1)];
      this.asked = topics.flatMap(({ partitions }) => partitions.map(({ partition }) => partition));
      return Promise.resolve(
        topics.map(({ topic, partitions }) => ({
          topic,
          partitions: partitions.map(({ partition }) => ({ partition, offset: '7' })),
        })),
      );
    }
  }

  it('are -1 for a partition without a leader, and known for others', async () => {
    const cluster = new (withOffsetsOfLed(Cluster as never) as unknown as typeof Cluster)();
    const asked = [{ topic: 'a', partitions: [{ partition: 0 }, { partition: 1 }] }];
    expect(await cluster.fetchTopicsOffset(asked)).toEqual([
      {
        topic: 'a',
        partitions: [
          { partition: 0, offset: '7' },
          { partition: 1, offset: '-1' },
        ],
      },
    ]);
    expect(cluster.asked).toEqual([0]);
    await cluster.fetchTopicsOffset(asked);
    expect(cluster.asked).toEqual([0, 1]);
  });

  afterEach(() => jest.useRealTimers());

  it('are -1 for a partition whose leader does not answer in time, which is asked again after its answer', async () => {
    jest.useFakeTimers();
    let answer: (() => void) | undefined;
    class Silent extends Cluster {
      isSilent = true;
      override findTopicPartitionMetadata(): object[] {
        return [led(0), { ...led(1), leader: 2 }];
      }
      override async fetchTopicsOffset(
        topics: Parameters<Cluster['fetchTopicsOffset']>[0],
      ): Promise<object> {
        const found = super.fetchTopicsOffset(topics);
        if (this.isSilent && this.asked.includes(1)) {
          await new Promise<void>((resolve) => (answer = resolve));
        }
        return found;
      }
    }
    const cluster = new (withOffsetsOfLed(Silent as never) as unknown as typeof Silent)();
    const partitions = [{ partition: 0 }, { partition: 1 }];
    const offsetsAfter = async (ms: number): Promise<object> => {
      const found = cluster.fetchTopicsOffset([{ topic: 'a', partitions }]);
      await jest.advanceTimersByTimeAsync(ms);
      return found;
    };
    const offsets = (second: string): unknown[] => [
      expect.objectContaining({
        partitions: [
          { partition: 0, offset: '7' },
          { partition: 1, offset: second },
        ],
      }),
    ];
    expect(await offsetsAfter(4000)).toEqual(offsets('-1'));
    // not even asked
    expect(await offsetsAfter(1)).toEqual(offsets('-1'));
    cluster.isSilent = false;
    answer?.();
    await jest.advanceTimersByTimeAsync(1);
    expect(await offsetsAfter(1)).toEqual(offsets('7'));
  });
});
