import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { FetchedRecord, PartitionAssignment } from '../client/kafka-port.js';
import type { CommittedProgress } from '../producer/committed-offsets.js';
import { FinishedAhead } from '../producer/offset-metadata.js';
import { nextTurn, until } from '../testing/wait.js';
import { AssignedPartitions } from './assigned-partitions.js';
import type { InboundMessage } from './inbound-message.js';
import { FakeTransactions } from './testing/fake-transactions.js';

function recordsUpTo(count: number, first = 0, bytes = 1): FetchedRecord[] {
  const source = { timestamp: '0', key: null, value: null, headerList: [], bytes };
  return Array.from({ length: count }, (_, index) => ({ ...source, position: first + index }));
}

const from = (topic: string, partition: number, highWatermark = 0, end = 0) => ({
  topic,
  partition,
  highWatermark,
  first: 0,
  end,
});

const inherited = (finished: FinishedAhead | undefined): CommittedProgress => ({
  ...{ finished, items: new Map(), transaction: undefined },
  ...{ deferredUpTo: undefined, begin: 0, floor: 0 },
});

/** Progress of an earlier owner that has finished all others up to the last. */
const unfinishedBefore = (offsets: readonly number[], last: number): CommittedProgress =>
  inherited(FinishedAhead.parse(0, FinishedAhead.compose(offsets, last).metadata));

const nobodyWaits = (): boolean => false;

describe('AssignedPartitions', () => {
  let resumed: string[];
  let sought: string[];
  let underWay: InboundMessage[];
  let queues: AssignedPartitions;
  /** The latest by topic and partition. */
  let transactions: Map<string, FakeTransactions>;

  /** Partition 0 of these topics, before its progress is read. */
  const own = (...topics: string[]): void => {
    queues.assignPartitions(new Map(topics.map((topic) => [topic, [0]])), nobodyWaits);
  };

  const offsets = (): number[] => underWay.map(({ offset }) => offset);

  const recall = (topic: string, partition: number, left?: CommittedProgress): void => {
    transactions.get(`${topic}/${partition}`)?.listener.progressRead(left);
  };

  /** The positions that commits of the owned partitions state, or would state. */
  const places = (): object[] =>
    [...transactions].flatMap(([name, { isClosed, place }]) => {
      if (isClosed || place === undefined) return [];
      const [topic, partition] = name.split('/');
      return [{ topic, partition: Number(partition), offset: place.offset, ahead: place.ahead }];
    });

  const reassign = (
    assignment: Record<string, number[]>,
    mustWait: (topic: string, partition: number) => boolean = nobodyWaits,
  ): void => {
    const byTopic: PartitionAssignment = new Map(Object.entries(assignment));
    const known = new Set(transactions.values());
    queues.assignPartitions(byTopic, mustWait);
    for (const each of transactions.values())
      if (!known.has(each)) each.listener.progressRead(undefined);
  };

  beforeEach(() => {
    // the shortest back-off
    jest.spyOn(Math, 'random').mockReturnValue(0);
    resumed = [];
    sought = [];
    // A partition of the previous test may still be handing over.
    const ofThisTest: InboundMessage[] = [];
    underWay = ofThisTest;
    transactions = new Map();
    queues = new AssignedPartitions({
      topicPrefix: '',
      handle: (messages) => {
        ofThisTest.push(...messages);
        return Promise.resolve();
      },
      giveUp: (message) => message.finish(),
      member: {
        resume: (topic, partition) => resumed.push(`${topic}/${partition}`),
        seek: (topic, partition, offset) => sought.push(`${topic}/${partition} ${offset}`),
      },
      beginTransactions: (topic, partition, progress, listener) => {
        const begun = new FakeTransactions(progress, listener);
        transactions.set(`${topic}/${partition}`, begun);
        return begun;
      },
    });
    reassign({ a: [0, 1], b: [0, 3] });
  });

  const fetched = (
    { highWatermark, ...place }: ReturnType<typeof from>,
    records: FetchedRecord[],
  ): boolean => {
    const [{ topic, partition }, end] = [place, String(highWatermark)];
    queues.endsFetched(topic, { partition, highWatermark: end, lastStableOffset: end }, true);
    return queues.bufferFetched(place, records);
  };

  const unfinished = (): number => queues.backlog().reduce((sum, it) => sum + it.messages, 0);

  async function finishAll(): Promise<void> {
    await until(() => {
      for (const message of underWay.splice(0)) message.finish();
      return unfinished() === 0;
    });
  }

  it('fetches again if the first fetch left messages out, whether that is known before or after', async () => {
    const fetchFrom = (first: number, end: number): void => {
      const records = recordsUpTo(end - first, first).map((it) => ({ ...it, topic: 'c' }));
      fetched({ ...from('c', 0, 9, end), first }, records);
    };
    for (const isKnownBefore of [true, false]) {
      own('c');
      const left = { ...inherited(undefined), begin: 2 };
      if (isKnownBefore) recall('c', 0, left);
      fetchFrom(5, 7);
      if (!isKnownBefore) recall('c', 0, left);
      expect(sought.splice(0)).toEqual(['c/0 2']);
      expect(places()).toEqual([]);
      // a transaction marker, fetched before the seek
      fetched({ ...from('c', 0, 9, 8), first: 7 }, []);
      fetchFrom(2, 4);
      fetchFrom(4, 7);
      await until(() => underWay.length === 5);
      expect(underWay.splice(0).map(({ offset }) => offset)).toEqual([2, 3, 4, 5, 6]);
      expect(sought).toEqual([]);
      own();
    }
  });

  it('accepts a later first message if the log itself begins later', async () => {
    own('c');
    recall('c', 0, { ...inherited(undefined), begin: 2 });
    const fetch = () => fetched({ ...from('c', 0, 6, 6), first: 5 }, recordsUpTo(1, 5));
    fetch();
    await nextTurn();
    expect(underWay).toEqual([]);
    fetch();
    await until(() => underWay.length === 1);
    expect(sought).toEqual(['c/0 2']);
  });

  it('commits past offsets without a message, without a lag, once all earlier messages are finished', async () => {
    fetched(from('a', 0, 11, 11), recordsUpTo(10));
    expect(queues.backlog()[0]).toMatchObject({ messages: 10, lag: 11 });
    await finishAll();
    expect(queues.backlog()[0]).toMatchObject({ messages: 0, lag: 0 });
    expect(places()).toMatchObject([{ offset: 11 }]);
    await nextTurn();
    fetched(from('a', 0, 15, 15), []);
    fetched(from('b', 3, 4, 4), []);
    const lags = queues.backlog().map(({ lag }) => lag);
    expect(lags).toEqual([0, 0, 0, 0]);
    expect(places()).toMatchObject([
      { topic: 'a', partition: 0, offset: 15, ahead: '' },
      { topic: 'b', partition: 3, offset: 4, ahead: '' },
    ]);
    fetched(from('c', 0, 4, 4), []);
    expect(queues.backlog()).toHaveLength(4);
  });

  it('commits nothing before the progress of earlier owners is read', async () => {
    own('c');
    fetched(from('c', 0, 3, 3), []);
    await nextTurn();
    expect(places()).toEqual([]);
    // An earlier owner has finished the fifth, but not the fourth.
    recall('c', 0, unfinishedBefore([0, 3], 4));
    expect(places()).toMatchObject([{ offset: 3 }]);
    fetched(from('c', 0, 5, 5), recordsUpTo(2, 3));
    await until(() => underWay.length === 1);
    expect(offsets()).toEqual([3]);
  });

  it('hands over nothing before the progress is read, by a request of this assignment', async () => {
    own('c');
    const before = transactions.get('c/0');
    own();
    own('c');
    fetched(from('c', 0), recordsUpTo(4));
    before?.listener.progressRead(unfinishedBefore([0, 1, 3], 3));
    await nextTurn();
    expect(underWay).toEqual([]);
    recall('c', 0, unfinishedBefore([0, 3], 3));
    await until(() => underWay.length === 2);
    expect(offsets()).toEqual([0, 3]);
    underWay[0]?.finish();
    expect(places()).toMatchObject([{ offset: 3, ahead: '' }]);
    underWay[1]?.finish();
    expect(places()).toMatchObject([{ offset: 4 }]);
  });

  it('knows the items that an earlier owner has done of a message, until it is finished', async () => {
    const items = new Map([[0, new Set([1])]]);
    own('c');
    fetched(from('c', 0), recordsUpTo(1));
    recall('c', 0, { ...inherited(undefined), items });
    await until(() => underWay.length === 1);
    const [message] = underWay;
    expect([0, 1].map((item) => message?.isItemDone(item))).toEqual([false, true]);
    message?.publish([], 0);
    expect(message?.isItemDone(0)).toBe(true);
  });

  it('forgets done items of a former log if offsets begin below the committed one', async () => {
    const items = new Map([[3, new Set([1])]]);
    own('c');
    recall('c', 0, { ...inherited(undefined), begin: 2, items });
    fetched(from('c', 0), []);
    fetched(from('c', 0), recordsUpTo(4));
    await until(() => underWay.length === 4);
    expect(underWay[3]?.isItemDone(1)).toBe(false);
  });

  it('commits nothing beyond the messages handed over, once it is closed', async () => {
    fetched(from('a', 0), recordsUpTo(1));
    await finishAll();
    reassign({ a: [0], c: [0] }, () => true);
    fetched(from('c', 0), recordsUpTo(3));
    void queues.closeBuffers();
    expect(places()).toMatchObject([{ topic: 'a', offset: 1 }]);
  });

  describe('while calls drain', () => {
    it('hands nothing over, not even of new or recreated partitions, and goes on at once afterwards', async () => {
      fetched(from('a', 0), recordsUpTo(100));
      await finishAll();
      queues.pauseAll();
      fetched(from('a', 0), recordsUpTo(1, 100));
      fetched(from('a', 1), recordsUpTo(1, 7));
      fetched(from('a', 0), recordsUpTo(1, 5));
      reassign({ a: [0, 1], c: [0] });
      fetched(from('c', 0), recordsUpTo(1, 9));
      await nextTurn();
      await nextTurn();
      expect(underWay).toEqual([]);
      expect(queues.waitingPartitions).toBe(0);
      queues.resumeAll();
      expect(offsets().sort()).toEqual([5, 7, 9]);
    });
  });

  describe('asks for a pause', () => {
    it('of a full partition, and resumes only that one', async () => {
      expect(fetched(from('a', 0), recordsUpTo(2499))).toBe(false);
      expect(fetched(from('a', 0), recordsUpTo(1, 2499))).toBe(true);
      expect(fetched(from('a', 1), recordsUpTo(1))).toBe(false);
      await finishAll();
      expect(resumed).toEqual(['a/0']);
    });
  });

  describe('after a rebalance', () => {
    it('drops revoked partitions, commits nothing more of them, and clears their pause', async () => {
      fetched(from('a', 1), recordsUpTo(1));
      fetched(from('b', 3), recordsUpTo(1));
      fetched(from('a', 0), recordsUpTo(3000));
      reassign({ a: [1], b: [0] });
      const [kept, ...dropped] = underWay;
      expect(kept?.revoked.aborted).toBe(false);
      expect(new Set(dropped.map(({ topic }) => topic))).toEqual(new Set(['a', 'b']));
      expect(dropped.every(({ revoked }) => revoked.aborted)).toBe(true);
      expect(resumed).toEqual(['a/0', 'b/3']);
      expect(queues.backlog().map(({ topic, partition }) => `${topic}/${partition}`)).toEqual([
        'a/1',
        'b/0',
      ]);
      await finishAll();
      expect(places()).toMatchObject([{ topic: 'a', partition: 1, offset: 1 }]);
    });

    it('commits nothing for partitions revoked during a stop, and opens none', async () => {
      fetched(from('a', 0, 1), recordsUpTo(1));
      fetched(from('b', 0, 1), recordsUpTo(1));
      const closed = queues.closeBuffers();
      queues.revokeAllBut(new Map(Object.entries({ b: [0], c: [0] })));
      await finishAll();
      await closed;
      expect(places()).toMatchObject([{ topic: 'b', offset: 1 }]);
    });

    it('keeps a partition although a fetch begins below the current committed offset', async () => {
      fetched(from('a', 0, 500), recordsUpTo(100));
      await until(() => underWay.length === 100);
      for (const message of underWay.slice(0, 50)) message.finish();
      reassign({ a: [0] });
      // a fetch from 50 on is under way, and meanwhile
      await finishAll();
      fetched(from('a', 0, 500), recordsUpTo(60, 50));
      await until(() => underWay.length === 10);
      expect(underWay[0]).toMatchObject({ offset: 100, revoked: { aborted: false } });
      await finishAll();
      expect(places()).toMatchObject([{ topic: 'a', partition: 0, offset: 110 }]);
    });

    it('keeps a partition although a new leader knows an earlier end', async () => {
      fetched(from('a', 0, 100), recordsUpTo(100));
      await until(() => underWay.length === 100);
      for (const message of underWay.splice(0, 50)) message.finish();
      reassign({ a: [0] });
      fetched(from('a', 0, 80), recordsUpTo(30, 50));
      expect(underWay.map(({ revoked }) => revoked.aborted)).not.toContain(true);
      await finishAll();
      expect(places()).toMatchObject([{ topic: 'a', partition: 0, offset: 100 }]);
    });

    it('does so also if only an earlier owner has committed', async () => {
      queues.assignPartitions(new Map([['c', [0]]]), nobodyWaits);
      fetched(from('c', 0, 100), recordsUpTo(50, 50));
      recall('c', 0, { ...inherited(undefined), begin: 50, floor: 50 });
      await until(() => underWay.length === 50);
      reassign({ c: [0] });
      fetched(from('c', 0, 80), recordsUpTo(30, 50));
      expect(underWay.map(({ revoked }) => revoked.aborted)).not.toContain(true);
    });

    it('starts over if a fetch begins below the committed offset', async () => {
      fetched(from('a', 0, 1), recordsUpTo(1));
      await finishAll();
      reassign({ a: [0] });
      fetched(from('a', 0, 500), recordsUpTo(2));
      await until(() => underWay.length > 0);
      expect(offsets()).toEqual([0, 1]);
    });

    it('ignores a fetch of a partition that was revoked meanwhile', async () => {
      expect(fetched(from('a', 7), recordsUpTo(1, 5500))).toBe(false);
      await finishAll();
      expect(places()).toEqual([]);
    });

    it('hands over nothing of a new partition until its progress and state are there', async () => {
      const asked: string[] = [];
      reassign({ a: [0, 1, 2, 3] }, (topic, partition) => {
        asked.push(`${topic}/${partition}`);
        return partition === 3;
      });
      expect(asked).toEqual(['a/2', 'a/3']);
      expect(queues.waitingPartitions).toBe(1);
      fetched(from('a', 2), recordsUpTo(1, 20));
      fetched(from('a', 3), recordsUpTo(1, 30));
      await nextTurn();
      expect(offsets()).toEqual([20]);
      queues.stateRestored('a', 2);
      queues.stateRestored('gone', 3);
      expect(offsets()).toEqual([20]);
      queues.stateRestored('a', 3);
      expect(offsets()).toEqual([20, 30]);
      expect(queues.waitingPartitions).toBe(0);
    });
  });

  describe('when offsets begin below the committed one, as in a recreated topic', () => {
    beforeEach(async () => {
      fetched(from('a', 0, 100), recordsUpTo(100));
      await finishAll();
    });

    it('starts over', async () => {
      fetched(from('a', 0, 2), recordsUpTo(2));
      expect(underWay).toHaveLength(2);
      expect(queues.backlog()[0]).toMatchObject({ messages: 2, lag: 2 });
      await finishAll();
      expect(places()).toMatchObject([{ topic: 'a', partition: 0, offset: 2 }]);
    });

    it('starts over, even if an older answer has another end', () => {
      queues.endsFetched('a', { partition: 0, highWatermark: '2', lastStableOffset: '2' }, true);
      queues.endOffsetRead('a', 0, 1000);
      queues.bufferFetched(from('a', 0, 2), recordsUpTo(2));
      expect(underWay).toHaveLength(2);
    });

    it('gives up messages in flight of the old topic, even if the new one has as many', async () => {
      fetched(from('a', 0, 101), recordsUpTo(1, 100));
      await until(() => underWay.length === 1);
      fetched(from('a', 0, 500), recordsUpTo(2));
      expect(underWay.map(({ revoked }) => revoked.aborted)).toEqual([true, false, false]);
      await finishAll();
      expect(places()).toMatchObject([{ topic: 'a', partition: 0, offset: 2 }]);
    });
  });

  it('does not start over when messages are redelivered from the committed offset on', () => {
    fetched(from('a', 1, 2), recordsUpTo(2));
    const [first, second] = underWay;
    first?.finish();
    fetched(from('a', 1, 2), recordsUpTo(1, 1));
    expect(second?.revoked.aborted).toBe(false);
    expect(underWay).toHaveLength(2);
  });

  it('reports the backlog: messages fetched and unfinished, and offsets from the lowest unfinished on', async () => {
    const backlog = () => queues.backlog().filter(({ topic }) => topic === 'b');
    const nothing = { topic: 'b', partition: 3, messages: 0, lag: 0 };
    reassign({ b: [3] });
    expect(backlog()).toEqual([nothing]);
    fetched(from('b', 3, 30), recordsUpTo(3, 20));
    expect(backlog()).toEqual([{ ...nothing, messages: 3, lag: 10 }]);
    underWay.shift()?.finish();
    expect(backlog()).toEqual([{ ...nothing, messages: 2, lag: 9 }]);
    await finishAll();
    expect(backlog()).toEqual([{ ...nothing, lag: 7 }]);
    fetched(from('b', 3, 24), recordsUpTo(1, 23));
    await finishAll();
    expect(backlog()).toEqual([nothing]);
  });

  it("logs a producer's transaction that has been open for a minute, once, and names it after a quarter of an hour", () => {
    let nowMs = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const warnings: unknown[] = [];
    const warn = jest.spyOn(Logger.prototype, 'warn');
    warn.mockImplementation((line) => void warnings.push(line));
    const open = (seconds: number, highWatermark: string, lastStableOffset: string): void => {
      for (const endMs = nowMs + seconds * 1000; nowMs < endMs;) {
        nowMs += 1000;
        queues.endsFetched('a', { partition: 1, highWatermark, lastStableOffset }, true);
      }
    };
    // each ends, and others follow
    for (let offset = 0; offset < 10; offset += 1) open(30, '99', String(offset));
    expect(warnings).toEqual([]);
    open(899, '52', '50');
    const logged = { topic: 'a', partition: 1, offset: 50, waiting: 2 };
    expect(warnings).toEqual([expect.objectContaining(logged)]);
    expect(queues.hangingTransactions).toBeUndefined();
    open(2, '52', '50');
    expect(queues.hangingTransactions).toContain('a/1 offset 50');
    open(1, '53', '53');
    expect(queues.hangingTransactions).toBeUndefined();
    // it is paused
    open(901, '60', '54');
    expect(queues.hangingTransactions).toContain('a/1 offset 54');
    nowMs += 10_000;
    expect(queues.hangingTransactions).toBeUndefined();
  });

  it('resumes a partition once another has fewer overtaken messages', async () => {
    /** Fetches messages, of which all but the last of each thousand wait; returns whether to pause the partition. */
    const overtake = async (partition: number, thousands: number): Promise<boolean> => {
      let isPaused = false;
      for (let first = 0; first < thousands * 1000 && !isPaused; first += 1000) {
        const records = recordsUpTo(1000, first);
        const end = first + 1000;
        isPaused = fetched({ ...from('a', partition, end, end), first }, records);
        const last = (): InboundMessage | undefined =>
          underWay.findLast((it) => it.partition === partition && it.offset === end - 1);
        await until(() => last() !== undefined);
        last()?.finish();
      }
      return isPaused;
    };
    expect(await overtake(0, 8)).toBe(false);
    expect(await overtake(1, 6)).toBe(true);
    resumed.length = 0;
    const first = transactions.get('a/0')!;
    // Committed together: one by one, metadata would be made for each of thousands.
    first.isHeldUp = true;
    for (const message of underWay) {
      if (message.partition === 0 && message.offset % 1000 < 999) message.finish();
    }
    first.commit();
    expect(resumed).toContain('a/1');
  });
});
