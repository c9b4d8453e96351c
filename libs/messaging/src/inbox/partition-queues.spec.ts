import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { realEpochMs, realNowMs } from '#libs/clock';
import { FinishedAhead } from '#libs/delivery';
import { AT_REST } from './commit-note.js';
import { type Assignment } from './consumer-callbacks.js';
import { type InboundMessage, type InboundRecord } from './inbound-message.js';
import { PartitionQueues } from './partition-queues.js';
import { type Statement } from './telling.js';

const LAST_RESORT_MS = 40_000;
const MIB = 1024 * 1024;

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function until(isSo: () => boolean): Promise<void> {
  const giveUpMs = realNowMs() + LAST_RESORT_MS;
  while (!isSo()) {
    if (realNowMs() > giveUpMs) throw new Error('what the test waits for did not come about');
    await nextTurn();
  }
}

function recordsUpTo(count: number, first = 0, bytes = 1): InboundRecord[] {
  const source = { topic: 'a', partition: 0, timestamp: '0', key: null, value: null, headers: [] };
  return Array.from({ length: count }, (_, index) => ({ ...source, offset: first + index, bytes }));
}

const from = (topic: string, partition: number, highWatermark = 0, end = 0) => ({
  topic,
  partition,
  highWatermark,
  first: 0,
  end,
});

const told = 1000;

const inherited = (finished: FinishedAhead | undefined) => ({
  ...{ finished, toldUntilMs: undefined, begin: 0, end: 0 },
});

const nobodyWaits = (): boolean => false;

describe('PartitionQueues', () => {
  let resumed: string[];
  let sought: string[];
  let setAside: InboundMessage[];
  let underWay: InboundMessage[];
  let queues: PartitionQueues;
  let commitsWanted: number;

  const reassign = (
    assignment: Record<string, number[]>,
    mustWait: (topic: string, partition: number) => boolean = nobodyWaits,
  ): void => {
    const byTopic: Assignment = new Map(Object.entries(assignment));
    for (const owned of queues.reassign(byTopic, mustWait)) owned.recall(undefined);
  };

  beforeAll(() => {
    Logger.overrideLogger(false);
    // the shortest back-off there is
    jest.spyOn(Math, 'random').mockReturnValue(0);
  });

  afterAll(() => {
    jest.restoreAllMocks();
  });

  beforeEach(() => {
    resumed = [];
    sought = [];
    setAside = [];
    // A queue of the test before may still be handing over.
    const ofThisTest: InboundMessage[] = [];
    underWay = ofThisTest;
    commitsWanted = 0;
    queues = new PartitionQueues({
      handle: (messages) => {
        ofThisTest.push(...messages);
        return Promise.resolve();
      },
      setAside: (message) => {
        setAside.push(message);
        return Promise.resolve();
      },
      resume: (topic, partition) => resumed.push(`${topic}/${partition}`),
      seek: (topic, partition, offset) => sought.push(`${topic}/${partition} ${offset}`),
      mayTell: () => true,
      onCommitWanted: () => {
        commitsWanted += 1;
      },
    });
    reassign({ a: [0, 1], b: [0, 3] });
  });

  const commit = (): void => {
    for (const { settle } of queues.takeCommittable(told)) settle(true);
  };

  const unfinished = (): number => queues.backlog().reduce((sum, it) => sum + it.messages, 0);

  async function finishAll(): Promise<void> {
    await until(() => {
      for (const message of underWay.splice(0)) message.finish();
      return unfinished() === 0;
    });
  }

  it('hands nothing of a fresh partition over before it is known what is finished already', async () => {
    const [fresh] = queues.reassign(new Map([['c', [0]]]), nobodyWaits);
    queues.push(from('c', 0), recordsUpTo(4));
    await nextTurn();
    expect(underWay).toEqual([]);
    // The second and third had been done, the first and fourth not.
    fresh?.recall(inherited(FinishedAhead.read(0, FinishedAhead.compose([0, 3], 3).metadata)));
    await until(() => underWay.length === 2);
    expect(underWay.map(({ offset }) => offset)).toEqual([0, 3]);
    underWay[0]?.finish();
    expect(queues.takeCommittable(told)).toMatchObject([{ offset: '3', metadata: '' }]);
    underWay[1]?.finish();
    expect(queues.takeCommittable(told)).toMatchObject([{ offset: '4' }]);
  });

  it('fetches again where the first fetch left messages out, whether that is known before it or after', async () => {
    const fetchFrom = (first: number, end: number): void => {
      const records = recordsUpTo(end - first, first).map((it) => ({ ...it, topic: 'c' }));
      queues.push({ ...from('c', 0, 9, end), first }, records);
    };
    for (const isKnownBefore of [true, false]) {
      const [fresh] = queues.reassign(new Map([['c', [0]]]), nobodyWaits);
      const left = { ...inherited(undefined), begin: 2 };
      if (isKnownBefore) fresh?.recall(left);
      fetchFrom(5, 7);
      if (!isKnownBefore) fresh?.recall(left);
      expect(sought.splice(0)).toEqual(['c/0 2']);
      expect(queues.takeCommittable(told)).toEqual([]);
      fetchFrom(2, 4);
      fetchFrom(4, 7);
      await until(() => underWay.length === 5);
      expect(underWay.splice(0).map(({ offset }) => offset)).toEqual([2, 3, 4, 5, 6]);
      expect(sought).toEqual([]);
      queues.reassign(new Map(), nobodyWaits);
    }
  });

  it('takes what is there where the log itself has lost what was to come first', async () => {
    const [fresh] = queues.reassign(new Map([['c', [0]]]), nobodyWaits);
    fresh?.recall({ ...inherited(undefined), begin: 2 });
    const fetch = (): void => {
      queues.push({ ...from('c', 0, 6, 6), first: 5 }, recordsUpTo(1, 5));
    };
    fetch();
    await nextTurn();
    expect(underWay).toEqual([]);
    fetch();
    await until(() => underWay.length === 1);
    expect(sought).toEqual(['c/0 2']);
  });

  it('commits past what is no message, and lags behind by nothing, once all before it is finished', async () => {
    queues.push(from('a', 0, 11, 11), recordsUpTo(10));
    expect(queues.backlog()[0]).toMatchObject({ messages: 10, lag: 11 });
    await finishAll();
    expect(queues.backlog()[0]).toMatchObject({ messages: 0, lag: 0 });
    expect(queues.takeCommittable(told)).toMatchObject([{ offset: '11' }]);
    await nextTurn();
    queues.push(from('a', 0, 15, 15), []);
    queues.push(from('b', 3, 4, 4), []);
    const lags = queues.backlog().map(({ lag }) => lag);
    expect(lags).toEqual([0, 0, 0, 0]);
    expect(queues.takeCommittable(told)).toMatchObject([
      { topic: 'a', partition: 0, offset: '15', metadata: '' },
      { topic: 'b', partition: 3, offset: '4', metadata: '' },
    ]);
    queues.push(from('c', 0, 4, 4), []);
    expect(queues.backlog()).toHaveLength(4);
  });

  it('commits nothing of what is no message before it is known what is finished already', async () => {
    const [fresh] = queues.reassign(new Map([['c', [0]]]), nobodyWaits);
    queues.push(from('c', 0, 3, 3), []);
    await nextTurn();
    expect(queues.takeCommittable(told)).toEqual([]);
    // An earlier owner has finished the fifth and not the fourth.
    fresh?.recall(inherited(FinishedAhead.read(0, FinishedAhead.compose([0, 3], 4).metadata)));
    expect(queues.takeCommittable(told)).toMatchObject([{ offset: '3' }]);
    queues.push(from('c', 0, 5, 5), recordsUpTo(2, 3));
    await until(() => underWay.length === 1);
    expect(underWay.map(({ offset }) => offset)).toEqual([3]);
  });

  it('goes by what was asked for since it owns the partition, not by an answer from before', async () => {
    const [before] = queues.reassign(new Map([['c', [0]]]), nobodyWaits);
    queues.reassign(new Map(), nobodyWaits);
    const [now] = queues.reassign(new Map([['c', [0]]]), nobodyWaits);
    queues.push(from('c', 0), recordsUpTo(4));
    before?.recall(inherited(FinishedAhead.read(0, FinishedAhead.compose([0, 1, 3], 3).metadata)));
    await nextTurn();
    expect(underWay).toEqual([]);
    now?.recall(inherited(FinishedAhead.read(0, FinishedAhead.compose([0, 3], 3).metadata)));
    await until(() => underWay.length === 2);
    expect(underWay.map(({ offset }) => offset)).toEqual([0, 3]);
  });

  it('tells beside a commit what is finished beyond it, and again when that has grown', async () => {
    queues.push(from('a', 0), recordsUpTo(4));
    await until(() => underWay.length === 4);
    underWay[2]?.finish();
    const [first] = queues.takeCommittable(told);
    expect(first).toMatchObject({ offset: '0' });
    expect(FinishedAhead.read(0, first?.metadata ?? '')?.includes(2)).toBe(true);
    first?.settle(true);
    expect(queues.takeCommittable(told)).toEqual([]);
    underWay[1]?.finish();
    const [second] = queues.takeCommittable(told);
    expect(FinishedAhead.read(0, second?.metadata ?? '')?.includes(1)).toBe(true);
  });

  describe('notes since when something may have been told that is not in a commit', () => {
    const notes = (): unknown[] => queues.takeCommittable(told).map(({ toldUntil }) => toldUntil);

    it('by now, or that nothing is told', async () => {
      queues.push(from('a', 0), recordsUpTo(1));
      await finishAll();
      expect(notes()).toEqual([1000]);
      await queues.stopTelling();
      expect(notes()).toEqual([AT_REST]);
    });

    it('as it was left by an earlier owner, until all is finished that was there by then', async () => {
      const [fresh] = queues.reassign(new Map([['c', [0]]]), nobodyWaits);
      fresh?.recall({ finished: undefined, toldUntilMs: 700, begin: 0, end: 2 });
      queues.push(from('c', 0), recordsUpTo(3));
      await until(() => underWay.length === 3);
      underWay[1]?.finish();
      expect(notes()).toEqual([700]);
      await queues.stopTelling();
      expect(notes()).toEqual([700]);
      queues.endRest();
      underWay[0]?.finish();
      expect(notes()).toEqual([1000]);
    });

    it('as it was while so many are unfinished that the commit cannot tell of all that are not', async () => {
      const count = 2400;
      queues.push(from('a', 0), recordsUpTo(count));
      await until(() => underWay.length === count);
      for (const message of underWay.slice(0, 10)) message.finish();
      expect(notes()).toEqual([1000]);
      for (const [index, message] of underWay.entries()) if (index % 3 === 1) message.finish();
      expect(queues.takeCommittable(2000)[0]?.toldUntil).toBe(1000);
      await finishAll();
      expect(queues.takeCommittable(2000)[0]?.toldUntil).toBe(2000);
    });
  });

  describe('hands out what may be committed', () => {
    it('once, when it has moved', async () => {
      queues.push(from('a', 0), recordsUpTo(2));
      queues.push(from('b', 3), recordsUpTo(1, 10));
      commit();
      expect(queues.takeCommittable(told)).toEqual([]);
      await finishAll();
      expect(queues.takeCommittable(told)).toMatchObject([
        { topic: 'a', partition: 0, offset: '2' },
        { topic: 'b', partition: 3, offset: '11' },
      ]);
      expect(queues.takeCommittable(told)).toEqual([]);
    });

    it('of all it owns when one has moved: what is noted beside them holds for all', async () => {
      queues.push(from('a', 0), recordsUpTo(1));
      await finishAll();
      commit();
      queues.push(from('a', 1), recordsUpTo(2, 5));
      commit();
      expect(queues.takeCommittable(told)).toEqual([]);
      underWay.at(-1)?.finish();
      expect(queues.takeCommittable(told)).toMatchObject([
        { topic: 'a', partition: 0, offset: '1' },
        { topic: 'a', partition: 1, offset: '5' },
      ]);
    });

    it('where nothing is finished yet, for what it says beside', () => {
      queues.push(from('a', 1), recordsUpTo(2, 5));
      expect(queues.takeCommittable(told)).toMatchObject([{ offset: '5', toldUntil: told }]);
    });

    it('nothing beyond what was handed over, once it is closed', async () => {
      queues.push(from('a', 0), recordsUpTo(1));
      await finishAll();
      reassign({ a: [0], c: [0] }, () => true);
      queues.push(from('c', 0), recordsUpTo(3));
      void queues.closeAll();
      expect(queues.takeCommittable(told)).toMatchObject([{ topic: 'a', offset: '1' }]);
    });

    it('again when the commit failed', async () => {
      queues.push(from('a', 0), recordsUpTo(1));
      await finishAll();
      commit();
      queues.push(from('a', 0), recordsUpTo(1, 1));
      await finishAll();
      queues.takeCommittable(told)[0]?.settle(false);
      const [again] = queues.takeCommittable(told);
      expect(again).toMatchObject({ topic: 'a', offset: '2' });
      again?.settle(true);
      expect(queues.takeCommittable(told)).toEqual([]);
    });

    it('only of what it owns still', async () => {
      queues.push(from('a', 0), recordsUpTo(1));
      queues.push(from('a', 1), recordsUpTo(1));
      queues.push(from('b', 0), recordsUpTo(1));
      reassign({ a: [1, 2] });
      expect(underWay.map(({ ownership }) => ownership.isLost)).toEqual([true, false, true]);
      await finishAll();
      expect(queues.takeCommittable(told)).toMatchObject([
        { topic: 'a', partition: 1, offset: '1' },
      ]);
    });
  });

  describe('while calls rest', () => {
    it('hands nothing over, not even of what is newly owned or starts over meanwhile, and goes on at once after', async () => {
      queues.push(from('a', 0), recordsUpTo(100));
      await finishAll();
      commit();
      queues.holdBack();
      queues.push(from('a', 0), recordsUpTo(1, 100));
      queues.push(from('a', 1), recordsUpTo(1, 7));
      queues.push(from('a', 0), recordsUpTo(1, 5));
      reassign({ a: [0, 1], c: [0] });
      queues.push(from('c', 0), recordsUpTo(1, 9));
      await nextTurn();
      await nextTurn();
      expect(underWay).toEqual([]);
      expect(queues.held).toBe(0);
      queues.endRest();
      expect(underWay.map(({ offset }) => offset).sort()).toEqual([5, 7, 9]);
    });
  });

  describe('lets what became of messages be told', () => {
    let toldOffsets: number[];

    beforeEach(() => {
      toldOffsets = [];
    });

    const tell = (message: InboundMessage | undefined): void => {
      if (message === undefined) return;
      const statement: Statement = {
        tell: () => {
          toldOffsets.push(message.offset);
          message.finish();
          message.ownership.telling.ended(statement);
        },
        giveUp: () => {
          message.abandon();
        },
      };
      message.ownership.telling.begin(statement);
    };

    it('only once there is a commit of its own, which it asks for: the one before may say that nothing is told', () => {
      queues.push(from('a', 0), recordsUpTo(2));
      expect(commitsWanted).toBe(0);
      for (const message of underWay) tell(message);
      expect(toldOffsets).toEqual([]);
      expect(commitsWanted).toBe(1);
      const [first] = queues.takeCommittable(told);
      first?.settle(false);
      expect(toldOffsets).toEqual([]);
      commit();
      expect(toldOffsets).toEqual([0, 1]);
    });

    it('no more once it is to stop, until a commit has taken back what the one before says', async () => {
      queues.push(from('a', 0), recordsUpTo(2));
      commit();
      tell(underWay[0]);
      await queues.stopTelling();
      tell(underWay[1]);
      const [atRest] = queues.takeCommittable(told);
      expect(atRest).toMatchObject({ offset: '1', toldUntil: AT_REST });
      queues.endRest();
      atRest?.settle(true);
      expect(toldOffsets).toEqual([0]);
      const [after] = queues.takeCommittable(told);
      expect(after).toMatchObject({ offset: '1', toldUntil: told });
      expect(toldOffsets).toEqual([0]);
      after?.settle(true);
      expect(toldOffsets).toEqual([0, 1]);
      expect(commitsWanted).toBe(0);
    });

    it('at once when it has stopped and nothing has been committed since', async () => {
      queues.push(from('a', 0), recordsUpTo(1));
      commit();
      await queues.stopTelling();
      tell(underWay[0]);
      expect(toldOffsets).toEqual([]);
      queues.endRest();
      expect(toldOffsets).toEqual([0]);
    });

    it('also where the commit at rest may have been lost, only after another one', async () => {
      queues.push(from('a', 0), recordsUpTo(1));
      commit();
      await queues.stopTelling();
      queues.takeCommittable(told)[0]?.settle(false);
      tell(underWay[0]);
      queues.endRest();
      expect(toldOffsets).toEqual([]);
      commit();
      expect(toldOffsets).toEqual([0]);
    });

    it('with a rest that is committed anew after its commit has failed', async () => {
      queues.push(from('a', 0), recordsUpTo(1));
      commit();
      await queues.stopTelling();
      queues.takeCommittable(told)[0]?.settle(false);
      const [again] = queues.takeCommittable(told);
      expect(again).toMatchObject({ offset: '0', toldUntil: AT_REST });
      again?.settle(true);
      expect(queues.takeCommittable(told)).toEqual([]);
    });

    it('with a time in the commits before which nothing that is being told was begun', async () => {
      queues.push(from('a', 0), recordsUpTo(2));
      commit();
      const beganMs = realEpochMs();
      underWay[0]?.ownership.telling.begin({
        tell: () => undefined,
        giveUp: () => undefined,
      });
      underWay[1]?.finish();
      await until(() => realEpochMs() > beganMs + 5);
      const [commitMeanwhile] = queues.takeCommittable(realEpochMs());
      expect(commitMeanwhile?.toldUntil).toBeGreaterThanOrEqual(beganMs);
      expect(commitMeanwhile?.toldUntil).toBeLessThanOrEqual(beganMs + 5);
    });

    it('to the end where it has begun, before a commit says that nothing is told', async () => {
      queues.push(from('a', 0), recordsUpTo(1));
      commit();
      const [message] = underWay;
      let acknowledge: () => void = () => undefined;
      const statement: Statement = {
        tell: () => {
          acknowledge = () => {
            message?.finish();
            message?.ownership.telling.ended(statement);
          };
        },
        giveUp: () => undefined,
      };
      message?.ownership.telling.begin(statement);
      const stopped = queues.stopTelling();
      await nextTurn();
      expect(queues.takeCommittable(told)).toEqual([]);
      acknowledge();
      await stopped;
      expect(queues.takeCommittable(told)).toMatchObject([{ offset: '1', toldUntil: AT_REST }]);
    });

    it('nowhere any more where the partition has gone to another process meanwhile', async () => {
      queues.push(from('a', 0), recordsUpTo(1));
      queues.push(from('a', 1), recordsUpTo(1, 7));
      commit();
      await queues.stopTelling();
      for (const message of underWay) tell(message);
      reassign({ a: [1] });
      queues.endRest();
      commit();
      expect(toldOffsets).toEqual([7]);
    });
  });

  describe('asks for a pause', () => {
    it('of the partition that is full, and resumes that one alone', async () => {
      expect(queues.push(from('a', 0), recordsUpTo(2499))).toBe(false);
      expect(queues.push(from('a', 0), recordsUpTo(1, 2499))).toBe(true);
      expect(queues.push(from('a', 1), recordsUpTo(1))).toBe(false);
      await finishAll();
      expect(resumed).toEqual(['a/0']);
    });

    it('of a partition of few messages that are large', () => {
      expect(queues.push(from('a', 0), recordsUpTo(7, 0, MIB))).toBe(false);
      expect(queues.push(from('a', 0), recordsUpTo(1, 7, MIB))).toBe(true);
    });

    it('of a partition in which one message keeps too many from being committed', async () => {
      queues.push(from('a', 0), recordsUpTo(1));
      const [first] = underWay.splice(0);
      expect(queues.push(from('a', 0), recordsUpTo(1, 249_998))).toBe(false);
      await until(() => underWay.length === 1);
      underWay.splice(0)[0]?.finish();
      queues.push(from('a', 0), recordsUpTo(1, 249_999));
      await until(() => underWay.length === 1);
      expect(queues.push(from('a', 0), recordsUpTo(1, 250_000))).toBe(true);
      first?.finish();
      expect(resumed).toEqual(['a/0']);
    });
  });

  describe('after a rebalance', () => {
    it('drops what it no longer owns, and lets no pause greet it when it returns', () => {
      queues.push(from('a', 0), recordsUpTo(3000));
      reassign({ a: [1], b: [0] });
      expect(underWay.every(({ ownership }) => ownership.isLost)).toBe(true);
      expect(resumed).toEqual(['a/0', 'b/3']);
      expect(queues.backlog().map(({ topic, partition }) => `${topic}/${partition}`)).toEqual([
        'a/1',
        'b/0',
      ]);
    });

    it('commits no more for what has gone while it stops, and takes nothing new', async () => {
      queues.push(from('a', 0, 1), recordsUpTo(1));
      queues.push(from('b', 0, 1), recordsUpTo(1));
      const closed = queues.closeAll();
      queues.dropAllBut(new Map(Object.entries({ b: [0], c: [0] })));
      await finishAll();
      await closed;
      expect(queues.takeCommittable(told)).toMatchObject([{ topic: 'b', offset: '1' }]);
    });

    it('keeps what it owns still, with all that is under way', async () => {
      queues.push(from('a', 0), recordsUpTo(2));
      reassign({ a: [0] });
      expect(underWay.map(({ ownership }) => ownership.isLost)).toEqual([false, false]);
      queues.push(from('a', 0), recordsUpTo(2));
      await finishAll();
      expect(queues.takeCommittable(told)).toMatchObject([
        { topic: 'a', partition: 0, offset: '2' },
      ]);
    });

    it('keeps it though a fetch begins before what is committed by now', async () => {
      queues.push(from('a', 0, 500), recordsUpTo(100));
      await until(() => underWay.length === 100);
      for (const message of underWay.slice(0, 50)) message.finish();
      commit();
      reassign({ a: [0] });
      // a fetch from 50 on is under way, and meanwhile
      await finishAll();
      commit();
      queues.push(from('a', 0, 500), recordsUpTo(60, 50));
      await until(() => underWay.length === 10);
      expect(underWay[0]).toMatchObject({ offset: 100, ownership: { isLost: false } });
      await finishAll();
      expect(queues.takeCommittable(told)).toMatchObject([
        { topic: 'a', partition: 0, offset: '110' },
      ]);
    });

    it('starts anew with a partition that comes back', async () => {
      queues.push(from('a', 0), recordsUpTo(2));
      reassign({});
      reassign({ a: [0] });
      queues.push(from('a', 0), recordsUpTo(2));
      expect(underWay.map(({ ownership }) => ownership.isLost)).toEqual([true, true, false, false]);
      await finishAll();
      expect(queues.takeCommittable(told)).toMatchObject([
        { topic: 'a', partition: 0, offset: '2' },
      ]);
    });

    it('takes nothing of a partition that is not its own: the fetch was under way when it was lost', async () => {
      expect(queues.push(from('a', 7), recordsUpTo(1, 5500))).toBe(false);
      await finishAll();
      expect(queues.takeCommittable(told)).toEqual([]);
    });

    it('holds what is newly owned until what it must wait for has come', async () => {
      const asked: string[] = [];
      reassign({ a: [0, 1, 2, 3] }, (topic, partition) => {
        asked.push(`${topic}/${partition}`);
        return partition === 3;
      });
      expect(asked).toEqual(['a/2', 'a/3']);
      expect(queues.held).toBe(1);
      queues.push(from('a', 2), recordsUpTo(1, 20));
      queues.push(from('a', 3), recordsUpTo(1, 30));
      await nextTurn();
      expect(underWay.map(({ offset }) => offset)).toEqual([20]);
      queues.release('a', 2);
      queues.release('gone', 3);
      expect(underWay.map(({ offset }) => offset)).toEqual([20]);
      queues.release('a', 3);
      expect(underWay.map(({ offset }) => offset)).toEqual([20, 30]);
      expect(queues.held).toBe(0);
    });

    it('counts nothing as held that it no longer owns', () => {
      reassign({ a: [5] }, () => true);
      expect(queues.held).toBe(1);
      reassign({});
      expect(queues.held).toBe(0);
    });
  });

  describe('when offsets begin before what was committed: the topic is another one now', () => {
    beforeEach(async () => {
      queues.push(from('a', 0, 100), recordsUpTo(100));
      await finishAll();
      commit();
    });

    it('starts over', async () => {
      queues.push(from('a', 0, 2), recordsUpTo(2));
      expect(underWay).toHaveLength(2);
      await finishAll();
      expect(queues.takeCommittable(told)).toMatchObject([
        { topic: 'a', partition: 0, offset: '2' },
      ]);
    });

    it('gives up what is under way of the old one, though the new one has as many messages', async () => {
      queues.push(from('a', 0, 101), recordsUpTo(1, 100));
      await until(() => underWay.length === 1);
      queues.push(from('a', 0, 500), recordsUpTo(2));
      expect(underWay.map(({ ownership }) => ownership.isLost)).toEqual([true, false, false]);
      await finishAll();
      expect(queues.takeCommittable(told)).toMatchObject([
        { topic: 'a', partition: 0, offset: '2' },
      ]);
    });
  });

  it('does not take for another topic what is delivered again from the committed offset on', () => {
    queues.push(from('a', 1, 2), recordsUpTo(2));
    const [first, second] = underWay;
    first?.finish();
    commit();
    queues.push(from('a', 1, 2), recordsUpTo(1, 1));
    expect(second?.ownership.isLost).toBe(false);
    expect(underWay).toHaveLength(2);
  });

  it('sets aside what fails every time, and commits past it', async () => {
    queues.push(from('a', 0), recordsUpTo(1));
    commit();
    await until(() => {
      for (const message of underWay.splice(0)) message.fail(new TypeError('a bug'));
      return setAside.length > 0;
    });
    expect(setAside).toMatchObject([{ topic: 'a', offset: 0 }]);
    await nextTurn();
    expect(queues.takeCommittable(told)).toMatchObject([{ topic: 'a', partition: 0, offset: '1' }]);
  });

  it('closes when all that is under way has ended, and still commits what finished', async () => {
    queues.push(from('a', 0), recordsUpTo(2));
    queues.push(from('b', 0), recordsUpTo(1));
    const log: string[] = [];
    const closed = queues.closeAll().then(() => log.push('closed'));
    expect(underWay.map(({ ownership }) => ownership.isLost)).toEqual([true, true, true]);
    const [first, second, third] = underWay;
    first?.finish();
    second?.abandon();
    await nextTurn();
    log.push('the last one ends');
    third?.abandon();
    await closed;
    expect(log).toEqual(['the last one ends', 'closed']);
    expect(queues.takeCommittable(told)).toMatchObject([
      { topic: 'a', partition: 0, offset: '1' },
      { topic: 'b', partition: 0, offset: '0' },
    ]);
  });

  it('tells how much is left: fetched and unfinished, and in Kafka from the lowest unfinished on', async () => {
    const backlog = () => queues.backlog().filter(({ topic }) => topic === 'b');
    const nothing = { topic: 'b', partition: 3, messages: 0, lag: 0 };
    reassign({ b: [3] });
    expect(backlog()).toEqual([nothing]);
    queues.push(from('b', 3, 30), recordsUpTo(3, 20));
    expect(backlog()).toEqual([{ ...nothing, messages: 3, lag: 10 }]);
    underWay.shift()?.finish();
    expect(backlog()).toEqual([{ ...nothing, messages: 2, lag: 9 }]);
    await finishAll();
    expect(backlog()).toEqual([{ ...nothing, lag: 7 }]);
    queues.push(from('b', 3, 24), recordsUpTo(1, 23));
    await finishAll();
    expect(backlog()).toEqual([nothing]);
  });
});
