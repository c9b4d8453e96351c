import fc from 'fast-check';
import { FinishedAhead } from '../producer/offset-metadata.js';
import { PendingEntries, TransactionEntry } from '../producer/pending-entries.js';
import { ContiguousOffsets, PartitionProgress } from './partition-progress.js';

/** Ascending offsets with gaps, as compaction and transaction markers leave them. */
const ascending = fc
  .tuple(fc.nat(1_000_000), fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 60 }))
  .map(([first, gaps]) =>
    gaps.reduce<number[]>((all, gap) => [...all, (all.at(-1) ?? first) + gap], []),
  );

const NONE: ReadonlySet<number> = new Set();

describe('ContiguousOffsets', () => {
  const committable = (offsets: ContiguousOffsets): number | undefined =>
    offsets.placeAfter(NONE)?.offset;

  it('commits the lowest unfinished offset or the next one, in any order of starts and ends', () => {
    fc.assert(
      fc.property(ascending, fc.infiniteStream(fc.nat()), (all, choices) => {
        const offsets = new ContiguousOffsets();
        expect(committable(offsets)).toBeUndefined();
        const waiting = [...all];
        const open: number[] = [];
        const started: number[] = [];
        const found: unknown[][] = [];
        const expected: number[][] = [];
        for (const choice of choices) {
          const next = choice % 2 === 0 || open.length === 0 ? waiting.shift() : undefined;
          if (next !== undefined) {
            offsets.startOffset(next);
            started.push(next);
            open.push(next);
          } else {
            const [offset] = open.splice(choice % Math.max(open.length, 1), 1);
            if (offset === undefined) break;
            offsets.finishOffset(offset);
          }
          const highest = started.at(-1) ?? 0;
          const lowest = open.length === 0 ? highest + 1 : Math.min(...open);
          const span = open.length === 0 ? 0 : highest - lowest + 1;
          found.push([committable(offsets), offsets.unfinishedSize, offsets.span]);
          expected.push([lowest, open.length, span]);
        }
        expect(found).toEqual(expected);
        const lowest = expected.map(([offset = 0]) => offset);
        expect(lowest).toEqual(lowest.toSorted((a, b) => a - b));
        expect(waiting).toEqual([]);
        expect(offsets.unfinishedSize).toBe(0);
      }),
    );
  });

  it('computes the position after further ends without recording them', () => {
    const offsets = new ContiguousOffsets();
    for (const offset of [4, 5, 6, 7, 8]) offsets.startOffset(offset);
    const { offset, ahead = '', upTo } = offsets.placeAfter(new Set([4, 7])) ?? {};
    expect([offset, upTo]).toEqual([5, 8]);
    const next = FinishedAhead.parse(5, ahead);
    expect([6, 7, 8].map((each) => next?.includes(each))).toEqual([false, true, false]);
    expect([committable(offsets), offsets.unfinishedSize]).toEqual([4, 5]);
    expect(offsets.placeAfter(new Set([4, 5, 6, 7, 8]))).toEqual({ offset: 9, ahead: '', upTo: 8 });
  });

  it('states how far a commit covers all offsets when it has no room for more', () => {
    const offsets = new ContiguousOffsets();
    for (let offset = 0; offset < 20_000; offset += 1) offsets.startOffset(offset);
    const even = new Set(Array.from({ length: 9999 }, (_, index) => 2 * index + 2));
    const { upTo = 0, ahead = '' } = offsets.placeAfter(even) ?? {};
    expect(upTo).toBeGreaterThan(10_000);
    expect(upTo).toBeLessThan(19_999);
    const next = FinishedAhead.parse(0, ahead);
    const listed = Array.from({ length: upTo }, (_, index) => next?.includes(index + 1));
    expect(listed).toEqual(listed.map((_, index) => index % 2 === 1));
  });

  it("counts offsets below an earlier owner's commit as finished, and keeps those finished ahead", () => {
    const offsets = new ContiguousOffsets();
    offsets.inheritFinished(FinishedAhead.parse(7, FinishedAhead.compose([7], 8).metadata), 7);
    const isToDo = [5, 6, 7, 8].map((offset) => offsets.startOffset(offset));
    expect(isToDo).toEqual([false, false, true, false]);
    expect(committable(offsets)).toBe(7);
  });

  it('distinguishes overtaken offsets from waiting ones', () => {
    const offsets = new ContiguousOffsets();
    for (let offset = 0; offset < 6000; offset += 1) offsets.startOffset(offset);
    expect(offsets.overtakenSize).toBe(0);
    for (let offset = 0; offset < 5000; offset += 1)
      if (offset % 10 !== 0) offsets.finishOffset(offset);
    expect(offsets).toMatchObject({ unfinishedSize: 1500, span: 6000 });
    expect(offsets.overtakenSize).toBeGreaterThan(440);
    expect(offsets.overtakenSize).toBeLessThanOrEqual(475);
    const { offset, upTo } = offsets.placeAfter(NONE)!;
    expect([offset, upTo]).toEqual([0, 5999]);
    for (let offset = 0; offset < 6000; offset += 1) offsets.finishOffset(offset);
    expect(offsets).toMatchObject({ unfinishedSize: 0, span: 0, overtakenSize: 0 });
    expect(committable(offsets)).toBe(6000);
  });

  describe('after an earlier owner that finished messages ahead of its commit', () => {
    const LAST = 60;
    const left = fc.record({
      /** Unfinished by the earlier owner; the lowest was committed. */
      unfinished: fc
        .uniqueArray(fc.nat(LAST), { minLength: 1, maxLength: 20 })
        .map((offsets) => offsets.sort((a, b) => a - b)),
      /** The last offset that this owner has started. */
      startedUpTo: fc.nat(LAST + 10),
      finishes: fc.infiniteStream(fc.boolean()),
    });

    it('forgets the former log when offsets begin again below the committed one', () => {
      const offsets = new ContiguousOffsets();
      offsets.inheritFinished(
        FinishedAhead.parse(1000, FinishedAhead.compose([1000], 1200).metadata),
      );
      expect(offsets.startOffset(5)).toBe(true);
      offsets.finishOffset(5);
      expect(committable(offsets)).toBe(6);
      expect(offsets.placeAfter(NONE)).toEqual({ offset: 6, ahead: '', upTo: 5 });
      expect(offsets.startOffset(1001)).toBe(true);
    });

    it('repeats only unfinished messages, and remembers the finished ones until they are delivered again', () => {
      fc.assert(
        fc.property(left, ({ unfinished, startedUpTo, finishes }) => {
          const committed = unfinished[0]!;
          const offsets = new ContiguousOffsets();
          const note = FinishedAhead.compose(unfinished, LAST).metadata;
          offsets.inheritFinished(FinishedAhead.parse(committed, note));
          const open = new Set(unfinished);
          const wrong: number[] = [];
          const known = note === '' ? committed - 1 : LAST;
          for (let offset = committed; offset <= startedUpTo; offset += 1) {
            const isToDo = offset > known || open.has(offset);
            if (offsets.startOffset(offset) !== isToDo) wrong.push(offset);
            open.add(offset);
            const wasFinished = offset <= known && !unfinished.includes(offset);
            if (!wasFinished && !finishes.next().value) continue;
            offsets.finishOffset(offset);
            open.delete(offset);
          }
          if (startedUpTo < committed) return;
          const { offset: next, ahead, upTo } = offsets.placeAfter(NONE)!;
          const passedOn = FinishedAhead.parse(next, ahead);
          const isDone = (offset: number): boolean =>
            offset < next || passedOn?.includes(offset) === true;
          for (let offset = committed; offset <= Math.max(LAST, startedUpTo); offset += 1) {
            const isKnown = offset <= startedUpTo || offset <= known;
            const isFinished = isKnown && !open.has(offset);
            if ((offset !== next || !isFinished) && isDone(offset) !== isFinished) {
              wrong.push(offset);
            }
          }
          expect(wrong).toEqual([]);
          expect(upTo).toBeGreaterThanOrEqual(startedUpTo);
        }),
      );
    });
  });
});

describe('deferred messages', () => {
  const handedOver = (count: number, deferredUpTo?: number): PartitionProgress => {
    const progress = new PartitionProgress();
    progress.inheritProgress({
      finished: undefined,
      floor: 0,
      begin: 0,
      items: new Map(),
      deferredUpTo,
    });
    const record = { timestamp: '0', key: null, value: null, headerList: [], bytes: 1 };
    progress.addFetched(
      Array.from({ length: count }, (_, position) => ({ ...record, position })),
      count,
    );
    while (progress.nextRecord() !== undefined);
    return progress;
  };
  const deferredUpTo = (progress: PartitionProgress, ...now: number[]): number | undefined =>
    progress.positionAfter([{ offsets: now, isLast: false, isDeferral: true }])?.deferredUpTo;

  it('are committed up to the first that is not deferred, with those of the transaction', () => {
    const progress = handedOver(5);
    expect(deferredUpTo(progress)).toBeUndefined();
    progress.entryCommitted({ offsets: [0, 3], isDeferral: true });
    expect(deferredUpTo(progress)).toBe(0);
    expect(deferredUpTo(progress, 1)).toBe(1);
    progress.recordEnded({ offset: 1, bytes: 1 }, 'finished');
    expect(deferredUpTo(progress, 2)).toBe(3);
  });

  it('are not deferred again by the next owner, which commits them as well', () => {
    const progress = handedOver(3, 5);
    expect([2, 5, 6].map((offset) => progress.wasDeferred(offset))).toEqual([true, true, false]);
    expect(deferredUpTo(progress)).toBe(5);
  });

  it('do not count once they are finished', () => {
    const progress = handedOver(2);
    progress.entryCommitted({ offsets: [0], isDeferral: true });
    progress.recordEnded({ offset: 0, bytes: 1 }, 'finished');
    expect(deferredUpTo(progress)).toBeUndefined();
  });
});

describe('PendingEntries with a message for more machines than the metadata has room for', () => {
  const MACHINES = 10_000;
  let progress: PartitionProgress;
  let waiting: PendingEntries;

  const add = (offset: number, machineId: string, item?: number): void => {
    const records = [{ topic: 'outcomes', key: machineId, value: 'x'.repeat(300), headers: {} }];
    waiting.addEntry(new TransactionEntry([{ offset }], records, item === undefined, item), 0);
  };

  const committed = (): TransactionEntry[] => {
    const { entries, place } = waiting.takeForTransaction(0);
    expect(place?.items).toBeDefined();
    for (const entry of entries) {
      const [offset = 0] = entry.offsets;
      if (entry.isLast) progress.recordEnded({ offset, bytes: 0 }, 'finished');
      else progress.entryCommitted(entry);
    }
    return entries;
  };
  const offsetsCommitted = (): number[] => committed().flatMap(({ offsets }) => offsets);

  beforeEach(() => {
    progress = new PartitionProgress();
    const record = { timestamp: '0', key: null, value: null, headerList: [], bytes: 0 };
    const records = [1, 2, 3].map((position) => ({ ...record, position }));
    progress.addFetched(records, 4);
    while (progress.nextRecord() !== undefined);
    waiting = new PendingEntries(progress);
    for (let item = 0; item < MACHINES - 1; item += 1) add(1, `M-${item}`, item);
    while (committed().length > 0);
  });

  it('takes entries without room together with the end of their message', () => {
    add(1, 'the last');
    const last = committed();
    expect(last.length).toBeGreaterThan(4000);
    expect(last.at(-1)).toMatchObject({ isLast: true });
    expect(waiting.isEmpty).toBe(true);
    expect(waiting.canPart(last)).toBe(false);
  });

  it('takes later entries meanwhile, but none of the same machine', () => {
    add(2, `M-${MACHINES - 2}`);
    add(3, 'another');
    expect(offsetsCommitted()).toEqual([3]);
    expect(offsetsCommitted()).toEqual([]);
    add(1, 'the last');
    expect(new Set(offsetsCommitted())).toEqual(new Set([1, 2]));
    expect(waiting.isEmpty).toBe(true);
  });
});
