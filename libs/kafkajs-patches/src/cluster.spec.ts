import { createRequire } from 'node:module';
import { jest } from '@jest/globals';
import { realEpochMs } from '#libs/clock';
import './index.js';
import {
  type CreateManager,
  limitOffsetWait,
  withCachedCoordinator,
  withOffsetsOfLed,
  withSoonLeaders,
} from './cluster.js';

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
  it('is made to the next one if a broker does not answer in time, and waits for the last', async () => {
    jest.useFakeTimers();
    class Pool {
      getNodeIds = (): string[] => ['1', '2'];
      async withBroker(ask: (of: string) => Promise<string>): Promise<string> {
        return ask('1').catch(() => ask('2'));
      }
    }
    const pool = new (withSoonLeaders(Pool as never) as unknown as typeof Pool)();
    const asked = pool.withBroker((of) =>
      of === '1'
        ? new Promise(() => undefined)
        : new Promise((resolve) => setTimeout(resolve, 10_000, of)),
    );
    await jest.advanceTimersByTimeAsync(14_000);
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

  it('of a topic without known partitions make an admin refresh its metadata and ask again', async () => {
    const cluster = new (withOffsetsOfLed(Cluster as never) as unknown as typeof Cluster)();
    cluster.partitions = [];
    const asked = cluster.fetchTopicsOffset([{ topic: 'a', partitions: [] }]);
    await expect(asked).rejects.toMatchObject({ type: 'UNKNOWN_TOPIC_OR_PARTITION' });
  });

  it('are found beside a topic of which no partition is asked, since all have committed offsets', async () => {
    const cluster = new (withOffsetsOfLed(Cluster as never) as unknown as typeof Cluster)();
    const asked = { topic: 'a', partitions: [{ partition: 0 }] };
    const found = await cluster.fetchTopicsOffset([asked, { topic: 'b', partitions: [] }]);
    expect(found).toEqual([{ topic: 'a', partitions: [{ partition: 0, offset: '7' }] }]);
  });

  afterEach(() => jest.useRealTimers());

  describe('of a partition whose leader', () => {
    let answer: (() => void) | undefined;
    let failure: Error | undefined;
    class Silent extends Cluster {
      override findTopicPartitionMetadata(): object[] {
        return [led(0), { ...led(1), leader: 2 }];
      }
      override async fetchTopicsOffset(
        topics: Parameters<Cluster['fetchTopicsOffset']>[0],
      ): Promise<object> {
        const found = super.fetchTopicsOffset(topics);
        if (!this.asked.includes(1)) return found;
        if (failure !== undefined) throw failure;
        await new Promise<void>((resolve) => (answer = resolve));
        return found;
      }
    }
    let cluster: Silent;

    beforeEach(() => {
      jest.useFakeTimers();
      [answer, failure] = [undefined, undefined];
      cluster = new (withOffsetsOfLed(Silent as never) as unknown as typeof Silent)();
    });

    const ask = (partitions: readonly number[], more: object = {}): Promise<object> =>
      cluster.fetchTopicsOffset([
        { topic: 'a', partitions: partitions.map((partition) => ({ partition })), ...more },
      ]);
    const answered = async (asked: Promise<object>, afterMs: number): Promise<object> => {
      asked.catch(() => undefined);
      await jest.advanceTimersByTimeAsync(afterMs);
      return asked;
    };
    const offsets = (second: string): unknown[] => [
      expect.objectContaining({
        partitions: [
          { partition: 0, offset: '7' },
          { partition: 1, offset: second },
        ],
      }),
    ];

    it('does not answer in time after another are -1, until its late answer', async () => {
      expect(await answered(ask([0, 1]), 4000)).toEqual(offsets('-1'));
      // no request waits for that leader again
      expect(await answered(ask([0, 1]), 1)).toEqual(offsets('-1'));
      answer?.();
      expect(await answered(ask([0, 1]), 1)).toEqual(offsets('7'));
    });

    it('answers ten seconds too late are asked for again', async () => {
      await answered(ask([0, 1]), 4000);
      answer?.();
      await jest.advanceTimersByTimeAsync(10_000);
      const former = answer;
      expect(await answered(ask([0, 1]), 4000)).toEqual(offsets('-1'));
      expect(answer).not.toBe(former);
    });

    it('is the only one that is asked are waited for, except by a member of a group', async () => {
      const asked = ask([1]);
      let isAnswered = false;
      void asked.then(() => (isAnswered = true));
      await jest.advanceTimersByTimeAsync(20_000);
      expect(isAnswered).toBe(false);
      limitOffsetWait(cluster);
      const [found] = (await answered(ask([1]), 4000)) as { partitions: object[] }[];
      expect(found?.partitions).toEqual([{ partition: 1, offset: '-1' }]);
    });

    it('cannot be reached are -1 if another answers', async () => {
      failure = Object.assign(new Error('refused'), { name: 'KafkaJSConnectionError' });
      expect(await answered(ask([0, 1]), 1)).toEqual(offsets('-1'));
      await expect(answered(ask([1]), 1)).rejects.toBe(failure);
    });

    it('answers with an error are not known', async () => {
      failure = Object.assign(new Error('no right'), { name: 'KafkaJSProtocolError' });
      await expect(answered(ask([0, 1]), 1)).rejects.toBe(failure);
    });

    it('does not answer a look-up by time are not taken for the end of the partition', async () => {
      const asked = answered(ask([0, 1], { fromTimestamp: 5 }), 4000);
      await expect(asked).rejects.toThrow('broker 2 does not answer');
    });
  });
});

describe('a coordinator, of transactions or of a group,', () => {
  const TRANSACTION = 1;
  const GROUP = 0;
  let leader: number;
  let gone: number | undefined;
  let lookedUp: number[];
  let failure: Error | undefined;
  let triesTwice: boolean;

  const cluster = () => ({
    findBroker: ({ nodeId }: { nodeId: string | number }) =>
      nodeId === gone ? Promise.reject(new Error('gone')) : Promise.resolve({ nodeId }),
    findGroupCoordinator: ({ coordinatorType }: { coordinatorType?: number }) => {
      lookedUp.push(coordinatorType ?? GROUP);
      return Promise.resolve({ nodeId: leader });
    },
  });
  /** Answers whom each of its requests went to. */
  const createManager: CreateManager = ({ cluster: given }) => {
    const ask = async (coordinatorType: number): Promise<unknown> => {
      const asked = { groupId: 'a', coordinatorType };
      if (triesTwice) await given.findGroupCoordinator(asked);
      const { nodeId } = await given.findGroupCoordinator(asked);
      if (failure !== undefined) throw failure;
      return nodeId;
    };
    const request = (): Promise<unknown> => ask(TRANSACTION);
    const sendOffsets = async (): Promise<unknown> => {
      await request();
      return ask(GROUP);
    };
    return {
      initProducerId: request,
      addPartitionsToTransaction: request,
      sendOffsets,
      commit: request,
      abort: request,
    };
  };
  const manager = () =>
    withCachedCoordinator(createManager)({ cluster: cluster(), transactional: true });

  beforeEach(() => {
    leader = 1;
    gone = undefined;
    lookedUp = [];
    failure = undefined;
    triesTwice = false;
  });

  it('is looked up again after a failure', async () => {
    const { addPartitionsToTransaction, commit, abort } = manager();
    expect(await addPartitionsToTransaction()).toBe(1);
    leader = 2;
    expect(await commit()).toBe(1);

    failure = new Error('not the coordinator');
    await expect(addPartitionsToTransaction()).rejects.toBe(failure);
    failure = undefined;

    expect(await abort()).toBe(2);
    expect(lookedUp).toHaveLength(2);
  });

  it('is looked up again when its broker cannot be reached', async () => {
    const { addPartitionsToTransaction, commit } = manager();
    await addPartitionsToTransaction();
    [leader, gone] = [2, 1];

    expect(await commit()).toBe(2);
  });

  it('is kept while it is still ending the previous transaction', async () => {
    const { initProducerId, addPartitionsToTransaction } = manager();
    await initProducerId();
    failure = Object.assign(new Error('wait'), { type: 'CONCURRENT_TRANSACTIONS' });
    await expect(addPartitionsToTransaction()).rejects.toBe(failure);
    failure = undefined;

    await addPartitionsToTransaction();
    expect(lookedUp).toHaveLength(1);
  });

  it('is not cached before it has answered', async () => {
    const { initProducerId } = manager();
    failure = new Error('not the coordinator');
    await expect(initProducerId()).rejects.toBe(failure);
    failure = undefined;
    leader = 2;

    expect(await initProducerId()).toBe(2);
  });

  it('is looked up again by a request that asks twice', async () => {
    const { commit, sendOffsets } = manager();
    await sendOffsets();
    leader = 2;
    triesTwice = true;

    expect(await commit()).toBe(2);
    expect(await sendOffsets()).toBe(2);
    expect(lookedUp).toEqual([TRANSACTION, GROUP, TRANSACTION, TRANSACTION, GROUP]);
  });

  it('is cached separately from the other', async () => {
    const { sendOffsets } = manager();
    await sendOffsets();
    leader = 2;

    expect(await sendOffsets()).toBe(1);
    expect(lookedUp).toEqual([TRANSACTION, GROUP]);
  });
});
