import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { rejected } from '#libs/contracts';
import type { FetchedRecord } from '../client/kafka-port.js';
import { RecordRefusedError } from '../producer/outbound-record.js';
import { nextTurn, until } from '../testing/wait.js';
import {
  AssignedPartition,
  type PartitionContext,
  type PartitionLimits,
} from './assigned-partition.js';
import type { InboundMessage } from './inbound-message.js';
import { FakeTransactions } from './testing/fake-transactions.js';

function recordAt(offset: number, bytes = 1): FetchedRecord {
  const [key, value] = [Buffer.from('k'), Buffer.from('v')];
  return { position: offset, timestamp: '7', key, value, headerList: [['name', null]], bytes };
}

function recordsAt(...offsets: number[]): FetchedRecord[] {
  return offsets.map((offset) => recordAt(offset));
}

function recordsUpTo(count: number, bytes = 1): FetchedRecord[] {
  return Array.from({ length: count }, (_, offset) => recordAt(offset, bytes));
}

/** A partition whose messages end when the test ends them. */
class Handling {
  /** Offsets, one chunk after the other. */
  readonly chunks: number[][] = [];
  readonly messages = new Map<number, InboundMessage>();
  readonly givenUp: number[] = [];
  resumed = 0;
  readonly queue: AssignedPartition;
  /** Handles a chunk that is handed over. */
  handler: (chunk: readonly InboundMessage[]) => Promise<void> = () => Promise.resolve();
  giveUp: (message: InboundMessage) => void = (message) => message.finish();
  transactions: FakeTransactions | undefined;

  constructor(limits: Partial<PartitionLimits> = {}) {
    const context = {
      topicPrefix: 'prefix.',
      handle: (chunk: readonly InboundMessage[]) => this.handle(chunk),
      member: {
        resume: () => {
          this.resumed += 1;
        },
        seek: () => undefined,
      },
      allOvertaken: () => this.queue.progress.overtaken,
      overtakenFell: () => undefined,
      lost: new Map(),
      giveUp: (message: InboundMessage) => {
        this.givenUp.push(message.offset);
        this.giveUp(message);
      },
      beginTransactions: (
        ...[, , progress, listener]: Parameters<PartitionContext['beginTransactions']>
      ) => {
        this.transactions = new FakeTransactions(progress, listener);
        return this.transactions;
      },
    };
    this.queue = new AssignedPartition('prefix.topic', 3, context, false, {
      ...{
        maxUnfinished: 1000,
        maxUnfinishedBytes: Infinity,
        maxOvertaken: Infinity,
        maxSpan: Infinity,
      },
      ...limits,
    });
  }

  /** The position that would be committed; undefined before any message is handed over. */
  get committable(): number | undefined {
    return this.transactions?.place?.offset;
  }

  get handed(): number[] {
    return this.chunks.flat();
  }

  message(offset: number): InboundMessage {
    const message = this.messages.get(offset);
    if (message === undefined) throw new Error(`${offset} has not been handed over`);
    return message;
  }

  finish(...offsets: number[]): void {
    for (const offset of offsets) this.message(offset).finish();
  }

  private handle(chunk: readonly InboundMessage[]): Promise<void> {
    this.chunks.push(chunk.map(({ offset }) => offset));
    for (const message of chunk) this.messages.set(message.offset, message);
    return this.handler(chunk);
  }
}

function finishAll(chunk: readonly InboundMessage[]): Promise<void> {
  for (const message of chunk) message.finish();
  return Promise.resolve();
}

/** The partition hands over from turn to turn. */
async function turns(): Promise<void> {
  await nextTurn();
  await nextTurn();
}

/** Keeps each chunk until the test accepts or refuses it. */
function held(handling: Handling): { take: () => void; fail: (error: Error) => void } {
  const latest = { take: (): void => undefined, fail: (): void => undefined };
  handling.handler = () => new Promise((take, fail) => Object.assign(latest, { take, fail }));
  return latest;
}

describe('AssignedPartition', () => {
  beforeEach(() => {
    // the shortest back-off
    jest.spyOn(Math, 'random').mockReturnValue(0);
  });

  describe('hands over', () => {
    it('fetched records with all their fields', () => {
      const handling = new Handling();
      const record = recordAt(5, 30);
      handling.queue.bufferFetched([record]);
      const { position: offset, timestamp, key, value, headerList: headers, bytes } = record;
      expect(handling.message(5)).toMatchObject({
        ...{ topic: 'topic', partition: 3, offset, timestamp, key, value, headers, bytes },
        unreadable: undefined,
      });
      expect(handling.message(5).revoked).toBe(handling.queue.revoked);
    });

    it('records to be rejected, without excess headers', () => {
      const handling = new Handling();
      const { rejection } = rejected('too-large', 'why');
      const unreadable = { rejection, omittedBytes: undefined };
      handling.queue.bufferFetched([{ ...recordAt(5), unreadable }]);
      expect(handling.message(5)).toMatchObject({ headers: [], unreadable });
    });

    it.each([
      ['messages', { maxUnfinished: 64 }, 1, 128, 64],
      ['bytes', { maxUnfinishedBytes: 64_000 }, 1000, 128, 64],
    ])(
      'no more %s than may be in flight, and the rest once half of them have ended',
      async (_, limits, bytes, most, half) => {
        const handling = new Handling(limits);
        handling.queue.bufferFetched(recordsUpTo(200, bytes));
        await until(() => handling.handed.length === most);
        await turns();
        expect(handling.handed).toHaveLength(most);
        handling.finish(...handling.handed.slice(1, half));
        await turns();
        expect(handling.handed).toHaveLength(most);
        handling.finish(0);
        await until(() => handling.handed.length > most);
      },
    );

    it('a large fetch in chunks over several turns of the event loop, in order', async () => {
      const handling = new Handling();
      handling.queue.bufferFetched(recordsUpTo(150));
      expect(handling.handed).toHaveLength(64);
      await until(() => handling.handed.length === 150);
      expect(handling.chunks.map(({ length }) => length)).toEqual([64, 64, 22]);
      expect(handling.handed).toEqual(Array.from({ length: 150 }, (_, offset) => offset));
    });

    it('large messages in chunks that are small in number', async () => {
      const handling = new Handling();
      const large = [0, 1, 2, 3, 4].map((offset) => recordAt(offset, 100 * 1024));
      handling.queue.bufferFetched([...large, recordAt(5, 1024 * 1024), recordAt(6)]);
      await until(() => handling.handed.length === 7);
      expect(handling.chunks).toEqual([[0, 1, 2], [3, 4, 5], [6]]);
    });

    it('a chunk only once the handler has finished with the previous one', async () => {
      const handling = new Handling();
      const chunk = held(handling);
      handling.queue.bufferFetched(recordsUpTo(65));
      handling.queue.bufferFetched(recordsAt(65));
      await turns();
      expect(handling.handed).toHaveLength(64);
      chunk.take();
      await until(() => handling.handed.length === 66);
      expect(handling.chunks[1]).toEqual([64, 65]);
    });

    it.each(['state', 'rebalance'] as const)(
      'nothing while paused for %s, though the fetch goes on as it did, and what came meanwhile once resumed',
      async (reason) => {
        const handling = new Handling({ maxUnfinished: 66 });
        handling.queue.bufferFetched(recordsUpTo(65));
        handling.queue.pauseHandOver(reason);
        // a rebalance takes a moment
        expect(handling.queue.isWaiting).toBe(reason === 'state');
        await turns();
        expect(handling.queue.bufferFetched(recordsAt(65))).toBe(true);
        await nextTurn();
        expect(handling.handed).toHaveLength(64);
        handling.queue.resumeHandOver(reason);
        expect(handling.handed).toHaveLength(66);
        expect(handling.resumed).toBe(0);
        handling.finish(...handling.handed.slice(0, 34));
        expect(handling.resumed).toBe(1);
      },
    );

    it('nothing after a rebalance while another reason remains', () => {
      const handling = new Handling();
      handling.queue.pauseHandOver('state');
      handling.queue.pauseHandOver('rebalance');
      handling.queue.bufferFetched(recordsAt(1));
      handling.queue.resumeHandOver('rebalance');
      expect(handling.handed).toEqual([]);
      handling.queue.resumeHandOver('state');
      expect(handling.handed).toEqual([1]);
    });
  });

  it('counts only the first end of a message', () => {
    const handling = new Handling({ maxUnfinished: 4 });
    expect(handling.queue.bufferFetched(recordsAt(1, 2, 3, 4))).toBe(true);
    handling.message(1).abandon();
    handling.message(1).finish();
    handling.message(1).fail(new Error('too late'));
    expect(handling.committable).toBe(1);
    for (let times = 0; times < 5; times += 1) handling.finish(2);
    expect(handling.queue.progress.size).toBe(3);
    expect(handling.resumed).toBe(0);
    expect(handling.handed).toEqual([1, 2, 3, 4]);
  });

  describe('asks for a pause', () => {
    it('when too many messages are unfinished, and resumes once when half of them are', async () => {
      const handling = new Handling({ maxUnfinished: 6 });
      expect(handling.queue.bufferFetched(recordsAt(0, 1, 2, 3, 4))).toBe(false);
      expect(handling.queue.bufferFetched(recordsAt(5))).toBe(true);
      expect(handling.queue.bufferFetched(recordsAt(6))).toBe(true);
      await until(() => handling.handed.length === 7);
      handling.finish(6, 5, 4, 3);
      expect(handling.queue.bufferFetched([])).toBe(true);
      expect(handling.resumed).toBe(0);
      handling.finish(2);
      expect(handling.resumed).toBe(1);
      handling.finish(1, 0);
      expect(handling.resumed).toBe(1);
      expect(handling.queue.bufferFetched(recordsAt(7))).toBe(false);
    });

    it('when too many bytes are unfinished, waiting or in flight', async () => {
      const handling = new Handling({ maxUnfinishedBytes: 400 });
      handling.queue.pauseHandOver('state');
      expect(handling.queue.bufferFetched([recordAt(0, 300)])).toBe(false);
      expect(handling.queue.bufferFetched([recordAt(1, 99)])).toBe(false);
      expect(handling.queue.bufferFetched([recordAt(2, 101)])).toBe(true);
      handling.queue.resumeHandOver('state');
      await until(() => handling.handed.length === 3);
      handling.finish(1);
      expect(handling.resumed).toBe(0);
      handling.finish(0);
      expect(handling.resumed).toBe(1);
    });

    it('when finished messages are too far ahead of the lowest unfinished one', async () => {
      const handling = new Handling({ maxSpan: 100 });
      handling.queue.bufferFetched(recordsAt(1000, 1001));
      handling.finish(1001);
      expect(handling.queue.bufferFetched(recordsAt(1098))).toBe(false);
      await until(() => handling.handed.includes(1098));
      handling.finish(1098);
      expect(handling.queue.bufferFetched(recordsAt(1099, 1100))).toBe(false);
      await until(() => handling.handed.includes(1100));
      expect(handling.queue.bufferFetched([])).toBe(true);
      handling.finish(1100);
      expect(handling.resumed).toBe(0);
      handling.finish(1000);
      expect(handling.resumed).toBe(1);
    });

    it('when many unfinished messages are overtaken, but not while they are few', async () => {
      const handling = new Handling({ maxUnfinished: 1000, maxOvertaken: 1500 });
      // in one transaction, because the position after each takes a while
      handling.transactions!.isHeldUp = true;
      const finish = (...offsets: number[]): void => {
        handling.finish(...offsets);
        handling.transactions!.commit();
      };
      const hundreds = (from: number): number[] =>
        Array.from({ length: 100 }, (_, index) => from + index);
      let next = 0;
      const passNextHundred = async (): Promise<boolean> => {
        const fetched = hundreds(next);
        const isPaused = handling.queue.bufferFetched(recordsAt(...fetched));
        await until(() => handling.messages.has(next + 99));
        finish(...fetched.filter((offset) => offset % 5 === 4));
        next += 100;
        return isPaused;
      };
      while (next < 1800) expect(await passNextHundred()).toBe(false);
      while (next < 2600 && !(await passNextHundred()));
      expect(handling.queue.isFetchPaused).toBe(true);
      expect(handling.queue.progress.overtaken).toBeGreaterThan(1450);
      for (let offset = 0; handling.resumed === 0; offset += 5) {
        finish(offset, offset + 1, offset + 2, offset + 3);
      }
      expect(handling.queue.progress.overtaken).toBeGreaterThan(700);
    });

    it('not if all messages ended while they were handed over', () => {
      const handling = new Handling({ maxUnfinished: 3 });
      handling.handler = finishAll;
      expect(handling.queue.bufferFetched(recordsAt(1, 2, 3, 4))).toBe(false);
    });
  });

  describe('when handling fails', () => {
    it('handles each message of a chunk alone after the handler failed with all', async () => {
      const handling = new Handling();
      handling.handler = () => Promise.reject(new TypeError('a bug'));
      handling.queue.bufferFetched(recordsAt(1, 2));
      handling.handler = () => Promise.resolve();
      await until(() => handling.chunks.length === 3);
      expect(handling.chunks).toEqual([[1, 2], [1], [2]]);
      handling.queue.bufferFetched(recordsAt(3));
      await until(() => handling.handed.includes(3));
      handling.finish(1, 2, 3);
      expect(handling.committable).toBe(4);
    });

    it('does not handle ended messages again if the handler failed afterwards', async () => {
      const handling = new Handling();
      handling.handler = ([first]) => {
        first?.finish();
        return Promise.reject(new TypeError('a bug'));
      };
      handling.queue.bufferFetched(recordsAt(1, 2));
      await until(() => handling.chunks.length === 2);
      expect(handling.chunks[1]).toEqual([2]);
    });

    it.each([
      ['after three failures', false, [[1, 2], [1], [1]]],
      ['at once, and does not handle it again if the service has answered it', true, [[1, 2]]],
    ])(
      'gives a message up %s, goes on behind it, and does not commit it before, however often that fails',
      async (_, areCallsAnswered, chunks) => {
        const handling = new Handling();
        let refusals = 2;
        handling.giveUp = (message) => {
          expect(handling.committable).toBe(1);
          refusals -= 1;
          if (refusals >= 0) throw new Error('a bug');
          message.finish();
        };
        handling.handler = ([message, behind]) => {
          message?.fail(new TypeError('a bug'), areCallsAnswered);
          behind?.finish();
          return Promise.resolve();
        };
        handling.queue.bufferFetched(recordsAt(1, 2));
        await until(() => handling.queue.progress.size === 0);
        expect(handling.chunks).toEqual(chunks);
        expect(handling.givenUp).toEqual([1, 1, 1]);
        expect(handling.committable).toBe(3);
      },
    );

    it('counts several failures of one attempt as one', async () => {
      const handling = new Handling();
      handling.queue.bufferFetched(recordsAt(1, 2));
      for (let times = 0; times < 3; times += 1) handling.message(1).fail(new TypeError('a bug'));
      handling.message(2).fail(new TypeError('a bug'));
      await until(() => handling.handed.slice(2).includes(2));
      await nextTurn();
      expect(handling.handed.slice(2).sort()).toEqual([1, 2]);
      expect(handling.givenUp).toEqual([]);
    });

    it('abandons messages that fail after their partition was revoked, and gives up none', async () => {
      const handling = new Handling();
      const chunk = held(handling);
      handling.queue.bufferFetched(recordsAt(1, 2));
      const closed = handling.queue.closeBuffer(new Error('revoked'));
      chunk.fail(new Error('aborted'));
      await closed;
      expect(handling.chunks).toEqual([[1, 2]]);
      expect(handling.givenUp).toEqual([]);
    });

    it('abandons a message that is given up but not committed when its partition is revoked', async () => {
      const handling = new Handling();
      handling.transactions!.isHeldUp = true;
      handling.handler = () => Promise.reject(new TypeError('a bug'));
      handling.queue.bufferFetched(recordsAt(1));
      await until(() => handling.transactions!.entries.length > 0);
      const closed = handling.queue.closeBuffer(new Error('revoked'));
      await handling.transactions!.endTransactions();
      await closed;
      expect(handling.committable).toBe(1);
    });

    it('gives up a message whose records are refused, repeatedly if need be, without handling it again', async () => {
      const handling = new Handling();
      handling.transactions!.isHeldUp = true;
      handling.queue.bufferFetched(recordsAt(1));
      handling.finish(1);
      const refusal = new RecordRefusedError('too-large', new Error('1 MB'));
      const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
      for (const times of [1, 2]) {
        handling.transactions!.refuse(refusal);
        await until(() => handling.givenUp.length === times);
      }
      const topics = logged.mock.calls.map(([line]) => (line as { topic: string }).topic);
      expect(new Set(topics)).toEqual(new Set([handling.queue.topic]));
      handling.transactions!.commit();
      expect([handling.committable, handling.chunks]).toEqual([2, [[1]]]);
    });
  });

  describe('the end of a message', () => {
    it('is written in another form, once, if Kafka refuses it', async () => {
      const handling = new Handling();
      handling.transactions!.isHeldUp = true;
      handling.queue.bufferFetched(recordsAt(1));
      const instead = { topic: 'outcomes', key: null, value: 'refused', headers: {} };
      handling.message(1).finish([{ ...instead, value: 'applied' }], () => [instead]);
      const refusal = new RecordRefusedError('too-large', new Error('1 MB'));
      handling.transactions!.refuse(refusal);
      expect(handling.transactions!.entries).toMatchObject([{ offsets: [1], records: [instead] }]);
      handling.transactions!.refuse(refusal);
      await until(() => handling.givenUp.length > 0);
    });

    it('is written with its offset, and counts once that is committed', () => {
      const handling = new Handling({ maxUnfinished: 1 });
      const transactions = handling.transactions!;
      transactions.isHeldUp = true;
      expect(handling.queue.bufferFetched(recordsAt(1))).toBe(true);
      const records = [{ topic: 'outcomes', key: null, value: 'applied', headers: {} }];
      handling.message(1).finish(records);
      handling.message(1).finish();
      expect(transactions.entries).toMatchObject([{ offsets: [1], isLast: true, records }]);
      expect([handling.committable, handling.resumed]).toEqual([1, 0]);
      transactions.commit();
      expect([handling.committable, handling.resumed]).toEqual([2, 1]);
    });

    it('may be published before its end, each item once', () => {
      const handling = new Handling();
      const transactions = handling.transactions!;
      transactions.isHeldUp = true;
      handling.queue.bufferFetched(recordsAt(1));
      const message = handling.message(1);
      message.publish([], 3);
      message.publish([], 3);
      message.publish([]);
      expect(transactions.entries).toMatchObject([
        { offsets: [1], isLast: false, item: 3 },
        { offsets: [1], isLast: false, item: undefined },
      ]);
      expect([3, 4].map((item) => message.isItemDone(item))).toEqual([true, false]);
      transactions.commit();
      expect(handling.queue.progress.isItemDone(1, 3)).toBe(true);
      message.finish();
      transactions.commit();
      expect(handling.queue.progress.isItemDone(1, 3)).toBe(false);
    });
  });

  describe('on closing', () => {
    it('hands nothing more over, aborts its signals, and resolves with the end of the last', async () => {
      const handling = new Handling();
      const log: string[] = [];
      handling.queue.revoked.addEventListener('abort', () => log.push('lost'));
      handling.queue.bufferFetched(recordsUpTo(70));
      handling.finish(...handling.handed.slice(2));
      const closed = handling.queue
        .closeBuffer(new Error('revoked'))
        .then(() => log.push('closed'));
      expect(handling.message(0).revoked.aborted).toBe(true);
      expect(handling.queue.revoked.reason).toEqual(new Error('revoked'));
      handling.message(0).abandon();
      await nextTurn();
      log.push('the last one ends');
      handling.finish(1);
      await closed;
      expect(handling.queue.bufferFetched(recordsAt(99))).toBe(false);
      handling.queue.resumeHandOver('state');
      await nextTurn();
      expect(log).toEqual(['lost', 'the last one ends', 'closed']);
      expect(handling.handed).toHaveLength(64);
    });

    it('does not wait if no message is in flight, nor for paused ones', async () => {
      const handling = new Handling();
      handling.queue.bufferFetched(recordsAt(1));
      handling.finish(1);
      handling.queue.pauseHandOver('state');
      handling.queue.bufferFetched(recordsAt(2));
      await handling.queue.closeBuffer(new Error('revoked'));
      expect([handling.queue.progress.size, handling.handed]).toEqual([0, [1]]);
      expect(handling.committable).toBe(2);
    });

    it('lets messages finished meanwhile be committed, and resumes nothing', async () => {
      const handling = new Handling({ maxUnfinished: 2 });
      expect(handling.queue.bufferFetched(recordsAt(1, 2, 3))).toBe(true);
      const closed = handling.queue.closeBuffer(new Error('the bridge is stopping'));
      handling.finish(1, 2);
      handling.message(3).abandon();
      await closed;
      expect(handling.committable).toBe(3);
      expect(handling.resumed).toBe(0);
    });
  });

  it('keeps nothing of ended messages while others wait behind them for long', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const handling = new Handling({ maxUnfinished: Infinity });
    handling.handler = (chunk) => {
      handling.chunks.length = 0;
      handling.messages.clear();
      return finishAll(chunk);
    };
    const pushed: WeakRef<FetchedRecord>[] = [];
    while (pushed.length < 50_000) {
      const records = Array.from({ length: 500 }, (_, index) => recordAt(pushed.length + index));
      pushed.push(...records.map((record) => new WeakRef(record)));
      handling.queue.bufferFetched(records);
      while (handling.queue.progress.size > 250) await nextTurn();
    }
    expect(handling.queue.progress.size).toBeGreaterThan(0);
    collectGarbage();
    const kept = pushed.filter((record) => record.deref() !== undefined).length;
    expect(kept).toBeLessThan(10_000);
  });
});
