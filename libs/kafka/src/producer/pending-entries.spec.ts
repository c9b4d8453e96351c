import { randomUUID } from 'node:crypto';
import type { CommitPosition } from './offset-metadata.js';
import { type OutboundRecord, RecordRefusedError } from './outbound-record.js';
import { type CommittedEntry, PendingEntries, TransactionEntry } from './pending-entries.js';

const OUTCOMES = 'outcomes';
const DEAD_LETTERS = 'dead-letters';

describe('PendingEntries', () => {
  /** As a partition's progress answers; undefined items where more than one is done. */
  let room: { upTo: number; items: number };
  let waiting: PendingEntries;

  beforeEach(() => {
    room = { upTo: Infinity, items: Infinity };
    const positionAfter = (entries: readonly CommittedEntry[] = []): CommitPosition => {
      const ending = entries.flatMap(({ isLast, offsets }) => (isLast ? offsets : []));
      const done = entries.filter(({ item, offsets: [offset = 0] }) => {
        return item !== undefined && !ending.includes(offset);
      });
      const items = done.flatMap(({ offsets }) => offsets).join();
      const place = { offset: 0, ahead: '', upTo: room.upTo };
      return { ...place, items: done.length > room.items ? undefined : items };
    };
    waiting = new PendingEntries({ positionAfter });
  });

  interface Changed {
    offsets?: number[];
    topics?: string[];
    records?: OutboundRecord[];
    /** Without it, the entry finishes its messages. */
    item?: number;
  }
  const entry = (
    offset: number,
    { offsets = [offset], topics = [OUTCOMES], records, item }: Changed = {},
  ): TransactionEntry => {
    const written = topics.map((topic) => ({ topic, key: null, value: 'x', headers: {} }));
    const messages = offsets.map((each) => ({ offset: each }));
    return new TransactionEntry(messages, records ?? written, item === undefined, item);
  };

  const offsetsTaken = (nowMs = 0): number[] =>
    waiting.takeForTransaction(nowMs).entries.flatMap(({ offsets }) => offsets);

  it('takes all entries in order', () => {
    for (const offset of [3, 1, 2]) waiting.addEntry(entry(offset), 5);
    expect(waiting.dueMs(9)).toBe(5);
    expect(offsetsTaken()).toEqual([3, 1, 2]);
    expect([waiting.isEmpty, waiting.dueMs(9)]).toEqual([true, Infinity]);
  });

  it('is full by bytes and takes no more than fits, but at least one', () => {
    const value = 'x'.repeat(600_000);
    const records = [{ topic: OUTCOMES, key: null, value, headers: {} }];
    for (const offset of [1, 2]) waiting.addEntry(entry(offset, { records }), 0);
    expect(waiting.isFull).toBe(true);
    expect([offsetsTaken(), offsetsTaken()]).toEqual([[1], [2]]);
  });

  it('returns entries that were removed behind those added since, with their bytes', () => {
    const value = 'x'.repeat(600_000);
    const records = [{ topic: OUTCOMES, key: null, value, headers: {} }];
    for (const offset of [1, 2]) waiting.addEntry(entry(offset, { records }), 0);
    const removed = waiting.removeAll();
    waiting.addEntry(entry(3), 0);
    waiting.returnToEnd(removed);
    expect(waiting.isFull).toBe(true);
    expect([offsetsTaken(), offsetsTaken(), offsetsTaken()]).toEqual([[3], [1], [2]]);
  });

  it('keeps entries above the offsets that the metadata has room for, until another one is added', () => {
    for (const offset of [1, 7]) waiting.addEntry(entry(offset), 0);
    room.upTo = 5;
    expect(offsetsTaken()).toEqual([1]);
    expect(offsetsTaken()).toEqual([]);
    expect(waiting.dueMs(0)).toBe(Infinity);
    room.upTo = Infinity;
    waiting.addEntry(entry(2), 0);
    expect(offsetsTaken()).toEqual([7, 2]);
  });

  it('takes an entry with room from behind many without', () => {
    const value = 'x'.repeat(600_000);
    const records = [{ topic: OUTCOMES, key: null, value, headers: {} }];
    for (const offset of [7, 8]) waiting.addEntry(entry(offset, { records }), 0);
    for (const offset of [1, 8, 2]) waiting.addEntry(entry(offset), 0);
    room.upTo = 5;
    expect(offsetsTaken()).toEqual([1, 2]);
    room.upTo = Infinity;
    expect([offsetsTaken(), offsetsTaken()]).toEqual([[7], [8]]);
  });

  it('does not state kept entries as done', () => {
    room.upTo = 5;
    waiting.addEntry(entry(1, { item: 0 }), 0);
    waiting.addEntry(entry(7, { item: 0 }), 0);
    expect(waiting.takeForTransaction(0).place?.items).toBe('1');
    room.upTo = Infinity;
    waiting.addEntry(entry(2), 0);
    expect(waiting.takeForTransaction(0).place?.items).toBe('7');
  });

  it('lets nothing overtake a partial entry without room', () => {
    room.items = 1;
    waiting.addEntry(entry(1, { item: 0 }), 0);
    waiting.addEntry(entry(2, { item: 0 }), 0);
    waiting.addEntry(entry(3), 0);
    expect(offsetsTaken()).toEqual([1]);
    room.items = Infinity;
    expect(offsetsTaken()).toEqual([2, 3]);
  });

  it('needs no room for items of a message that ends with them', () => {
    room.items = 0;
    waiting.addEntry(entry(1, { item: 0 }), 0);
    waiting.addEntry(entry(1), 0);
    expect(offsetsTaken()).toEqual([1, 1]);
  });

  it('takes messages that end together with the last of them', () => {
    waiting.addEntry(entry(1, { offsets: [1, 7] }), 0);
    waiting.addEntry(entry(2), 0);
    room.upTo = 5;
    expect(offsetsTaken()).toEqual([2]);
    room.upTo = Infinity;
    waiting.addEntry(entry(3), 0);
    expect(offsetsTaken()).toEqual([1, 7, 3]);
  });

  it('bisects to the entry at fault, and goes on with all once one is committed', () => {
    for (const offset of [1, 2, 3, 4]) waiting.addEntry(entry(offset), 0);
    const { entries } = waiting.takeForTransaction(0);
    waiting.returnToFront(entries, 2);
    const half = waiting.takeForTransaction(0).entries;
    expect(half).toHaveLength(2);
    waiting.transactionCommitted(half);
    expect(offsetsTaken()).toEqual([3, 4]);
  });

  it('takes half as many entries after a long transaction, and more again once they are fast', () => {
    for (let offset = 0; offset < 20; offset += 1) waiting.addEntry(entry(offset), 0);
    const { entries } = waiting.takeForTransaction(0);
    waiting.transactionLastedLong(entries.slice(0, 8));
    // whole messages may be more
    waiting.transactionLastedLong(entries);
    waiting.returnToFront(entries);
    const taken = [false, true, true].map((isFast) => {
      const some = waiting.takeForTransaction(0).entries;
      waiting.transactionCommitted(some, isFast);
      return some.length;
    });
    expect(taken).toEqual([4, 4, 8]);
  });

  it('is slow from a long transaction until full ones are fast again', () => {
    for (const offset of [0, 1]) waiting.addEntry(entry(offset), 0);
    const { entries } = waiting.takeForTransaction(0);
    const found = [waiting.isSlow];
    waiting.transactionLastedLong(entries.slice(0, 1));
    found.push(waiting.isSlow);
    // from one entry to the limit of 2,000
    for (let fast = 0; fast < 11; fast += 1) waiting.transactionCommitted(entries, true);
    expect([...found, waiting.isSlow]).toEqual([false, true, false]);
  });

  describe('after a failure', () => {
    /** Returns the entries of the transaction that fails; they back off for a second. */
    const failNext = ({ lastedLong = false } = {}): readonly TransactionEntry[] => {
      const { entries } = waiting.takeForTransaction(0);
      waiting.transactionFailed(entries, 1000);
      if (lastedLong) waiting.transactionLastedLong(entries);
      waiting.returnToFront(entries, lastedLong ? 2000 : undefined);
      return entries;
    };

    beforeEach(() => {
      waiting.addEntry(entry(1, { topics: [DEAD_LETTERS, OUTCOMES] }), 0);
      waiting.addEntry(entry(2), 0);
      waiting.addEntry(entry(3), 0);
      failNext();
    });

    it.each([
      ['state of the same key', { topic: 'state', partition: 1, isState: true as const }, 'key'],
      ['an outcome of the same machine', { topic: OUTCOMES }, 'key'],
      ['a record of the same partition of a queue', { topic: 'queue' }, 'partition'],
    ])('has nothing overtake %s', (_, common, by) => {
      waiting.removeAll();
      const record = (its: string): OutboundRecord => {
        const place = by === 'key' ? { key: its } : { key: randomUUID(), partition: its.length };
        return { ...common, ...place, value: 'x', headers: {} };
      };
      const deadLetter = { topic: DEAD_LETTERS, key: null, value: 'x', headers: {} };
      waiting.addEntry(entry(4, { records: [record('mine'), deadLetter] }), 0);
      waiting.addEntry(entry(5, { records: [record('mine')] }), 0);
      waiting.addEntry(entry(6, { records: [record('other')] }), 0);
      const { entries } = waiting.takeForTransaction(0);
      waiting.transactionFailed(entries.slice(0, 1), 1000);
      waiting.returnToFront(entries);
      expect([offsetsTaken(), offsetsTaken()]).toEqual([[6], []]);
      expect(waiting.dueMs(0)).toBe(1000);
      expect([offsetsTaken(1000), offsetsTaken(1000)]).toEqual([[4], [5]]);
    });

    it('tries each topic set alone, at once', () => {
      expect(waiting.dueMs(0)).toBeLessThanOrEqual(0);
      expect([offsetsTaken(), offsetsTaken()]).toEqual([[1], [2, 3]]);
    });

    it('lets a topic set that fails alone wait, and the others go on', () => {
      failNext();
      const outcomes = waiting.takeForTransaction(0).entries;
      expect(outcomes.flatMap(({ offsets }) => offsets)).toEqual([2, 3]);
      waiting.transactionCommitted(outcomes);
      expect(offsetsTaken()).toEqual([]);
      expect(waiting.dueMs(0)).toBe(1000);
      waiting.addEntry(entry(4), 10);
      expect(waiting.dueMs(10)).toBeLessThanOrEqual(10);
      expect(offsetsTaken(10)).toEqual([4]);
      expect(waiting.dueMs(1000)).toBeLessThanOrEqual(1000);
      expect(offsetsTaken(1000)).toEqual([1]);
    });

    it('takes other topic sets first after a long failure of one, even if its back-off is over', () => {
      failNext({ lastedLong: true });
      expect([offsetsTaken(40_000), offsetsTaken(40_000)]).toEqual([[2, 3], [1]]);
    });

    it('takes a topic set that others go before after ten seconds all the same', () => {
      failNext({ lastedLong: true });
      expect(offsetsTaken(40_000)).toEqual([2, 3]);
      waiting.addEntry(entry(4), 49_000);
      expect(offsetsTaken(50_000)).toEqual([1]);
    });

    it('lets a message that fails as a whole wait, as it has no room in parts', () => {
      waiting.removeAll();
      room.items = 0;
      waiting.addEntry(entry(4, { item: 0 }), 0);
      waiting.addEntry(entry(4, { topics: [DEAD_LETTERS, OUTCOMES] }), 0);
      expect(failNext()).toHaveLength(2);
      expect(offsetsTaken()).toEqual([]);
      expect(waiting.dueMs(0)).toBe(1000);
      expect(offsetsTaken(1000)).toEqual([4, 4]);
    });

    it('retries the failed topic set although there is no room for the others', () => {
      const [deadLetter, ...others] = waiting.removeAll();
      waiting.transactionFailed([deadLetter!], 1000);
      for (const each of [...others, deadLetter!]) waiting.addEntry(each, 0);
      room.upTo = 1;
      expect(offsetsTaken()).toEqual([]);
      expect(waiting.dueMs(0)).toBe(1000);
      expect(waiting.dueMs(1000)).toBeLessThanOrEqual(1000);
      expect(offsetsTaken(1000)).toEqual([1]);
    });

    it('ends no message before its earlier entries are committed', () => {
      failNext();
      waiting.transactionCommitted(waiting.takeForTransaction(0).entries);
      waiting.addEntry(entry(5, { topics: [DEAD_LETTERS, OUTCOMES], item: 0 }), 10);
      waiting.addEntry(entry(5), 10);
      expect(waiting.dueMs(10)).toBe(1000);
      expect(offsetsTaken(10)).toEqual([]);
      waiting.addEntry(entry(6), 20);
      expect(offsetsTaken(20)).toEqual([6]);
      expect([offsetsTaken(1000), offsetsTaken(1000)]).toEqual([[1, 5], [5]]);
    });

    it('commits all together again once none fails', () => {
      for (const nowMs of [0, 1])
        waiting.transactionCommitted(waiting.takeForTransaction(nowMs).entries);
      waiting.addEntry(entry(5, { topics: [DEAD_LETTERS, OUTCOMES] }), 2);
      waiting.addEntry(entry(6), 2);
      expect(offsetsTaken(2)).toEqual([5, 6]);
    });
  });

  describe('the leaner form of a refused entry', () => {
    const refusal = new RecordRefusedError('too-large', new Error('1 MB'));
    const whole = { topic: DEAD_LETTERS, key: null, value: 'whole', headers: {} };

    const taken = (records: OutboundRecord[]) => {
      waiting.addEntry(entry(1, { records }), 0);
      return waiting.takeForTransaction(0).entries[0]!;
    };

    it('is first compressed, then has its records replaced, one after the other', () => {
      const leanest = { ...whole, value: 'leanest' };
      const lean = { ...whole, value: 'lean', leaner: () => leanest };
      const outcome = { ...whole, topic: OUTCOMES };
      const first = taken([{ ...whole, leaner: () => lean }, outcome]);
      const forms = [];
      while (first.makeLeaner(refusal)) {
        forms.push(first.records.map(({ value }) => value).concat(first.isCompressed ? '' : []));
      }
      expect(forms).toEqual([
        ['whole', 'whole', ''],
        ['lean', 'whole'],
        ['lean', 'whole', ''],
        ['leanest', 'whole'],
        ['leanest', 'whole', ''],
      ]);
    });

    it('keeps records of topics other than the one that refused', () => {
      const first = taken([
        { ...whole, leaner: () => ({ ...whole, value: 'lean' }) },
        { ...whole, topic: OUTCOMES },
      ]);
      const byOutcomes = new RecordRefusedError('too-large', new Error('1 MB'), OUTCOMES);
      const forms = [];
      while (first.makeLeaner(byOutcomes)) forms.push(first.records.map(({ value }) => value));
      expect(forms).toEqual([['whole', 'whole']]);
    });

    it('is not compressed if that cannot help', () => {
      const lean = { ...whole, value: 'lean' };
      const unencodable = new RecordRefusedError('unencodable', new Error('no'));
      const first = taken([{ ...whole, leaner: () => lean }]);
      expect(first.makeLeaner(unencodable)).toBe(true);
      expect(first).toMatchObject({ records: [lean], isCompressed: false });
    });
  });
});
