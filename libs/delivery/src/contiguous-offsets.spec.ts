import fc from 'fast-check';
import { ContiguousOffsets } from './contiguous-offsets.js';
import { FinishedAhead } from './finished-ahead.js';

/** Ascending offsets with gaps, as compaction and transaction markers leave them. */
const ascending = fc
  .tuple(fc.nat(1_000_000), fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 60 }))
  .map(([first, gaps]) =>
    gaps.reduce<number[]>((all, gap) => [...all, (all.at(-1) ?? first) + gap], []),
  );

describe('ContiguousOffsets', () => {
  it('has nothing to commit before the first message has finished', () => {
    const offsets = new ContiguousOffsets();
    expect(offsets.committable()).toBeUndefined();
    offsets.start(7);
    offsets.start(8);
    offsets.finish(8);
    expect(offsets.committable()).toBeUndefined();
    offsets.finish(7);
    expect(offsets.committable()).toBe(9);
  });

  it('commits the lowest unfinished, or what comes next, in any order of starting and finishing', () => {
    fc.assert(
      fc.property(ascending, fc.infiniteStream(fc.nat()), (all, choices) => {
        const offsets = new ContiguousOffsets();
        const waiting = [...all];
        const open: number[] = [];
        const started: number[] = [];
        let before = -1;
        for (const choice of choices) {
          const next = choice % 2 === 0 || open.length === 0 ? waiting.shift() : undefined;
          if (next !== undefined) {
            offsets.start(next);
            started.push(next);
            open.push(next);
          } else {
            const [offset] = open.splice(choice % Math.max(open.length, 1), 1);
            if (offset === undefined) break;
            offsets.finish(offset);
          }
          const highest = started.at(-1) ?? 0;
          const lowest = open.length === 0 ? highest + 1 : Math.min(...open);
          // Nothing lower than the first has ever been started, so nothing of it can be committed.
          expect(offsets.committable()).toBe(lowest === started[0] ? undefined : lowest);
          expect(offsets.open).toBe(open.length);
          expect(offsets.span).toBe(open.length === 0 ? 0 : highest - lowest + 1);
          expect(offsets.committable() ?? before).toBeGreaterThanOrEqual(before);
          before = offsets.committable() ?? before;
        }
        expect(waiting).toEqual([]);
        expect(offsets.open).toBe(0);
      }),
    );
  });

  it('commits up to the lowest unfinished, over the gap before it', () => {
    const offsets = new ContiguousOffsets();
    offsets.start(3);
    offsets.start(10);
    offsets.finish(3);
    expect(offsets.committable()).toBe(10);
    offsets.finish(10);
    expect(offsets.committable()).toBe(11);
    offsets.start(20);
    expect(offsets.committable()).toBe(20);
  });

  it('passes over nothing that has finished behind one that is done in part', () => {
    const offsets = new ContiguousOffsets();
    for (const offset of [4, 5, 6, 7, 8]) offsets.start(offset);
    offsets.doneInPart(6);
    offsets.doneInPart(99);
    for (const offset of [5, 7]) offsets.finish(offset);
    const told = offsets.finishedAhead;
    const next = FinishedAhead.read(4, told.metadata);
    expect([5, 6, 7].map((offset) => next?.includes(offset))).toEqual([true, false, false]);
    expect(told.isWhole).toBe(false);
    offsets.finish(6);
    expect(FinishedAhead.read(4, offsets.finishedAhead.metadata)?.includes(7)).toBe(true);
    expect(offsets.finishedAhead.isWhole).toBe(true);
  });

  it('never goes back, whatever finishes twice or was never started', () => {
    const offsets = new ContiguousOffsets();
    offsets.start(1);
    offsets.start(2);
    offsets.finish(1);
    offsets.finish(1);
    offsets.finish(99);
    expect(offsets.committable()).toBe(2);
    expect(offsets.open).toBe(1);
  });

  it('keeps count across the thousands that finish behind one that does not end', () => {
    const offsets = new ContiguousOffsets();
    const all = Array.from({ length: 5000 }, (_, offset) => offset);
    for (const offset of all) offsets.start(offset);
    for (const offset of all) if (offset !== 0 && offset !== 3000) offsets.finish(offset);
    expect(offsets).toMatchObject({ open: 2, span: 5000 });
    expect(offsets.committable()).toBeUndefined();
    offsets.finish(0);
    expect(offsets).toMatchObject({ open: 1, span: 2000 });
    expect(offsets.committable()).toBe(3000);
    offsets.finish(3000);
    expect(offsets).toMatchObject({ open: 0, span: 0 });
    expect(offsets.committable()).toBe(5000);
  });

  describe('after an earlier owner that has finished some ahead of its commit', () => {
    const LAST = 60;
    const left = fc.record({
      /** Not finished by the earlier owner; the lowest was committed. */
      unfinished: fc
        .uniqueArray(fc.nat(LAST), { minLength: 1, maxLength: 20 })
        .map((offsets) => offsets.sort((a, b) => a - b)),
      /** Up to where this owner has come. */
      startedUpTo: fc.nat(LAST + 10),
      finishes: fc.infiniteStream(fc.boolean()),
    });

    it('knows nothing of a log that begins anew below what was committed', () => {
      const offsets = new ContiguousOffsets();
      offsets.inherit(FinishedAhead.read(1000, FinishedAhead.compose([1000], 1200).metadata));
      expect(offsets.start(5)).toBe(true);
      offsets.finish(5);
      expect(offsets.committable()).toBe(6);
      expect(offsets.finishedAhead).toEqual({ metadata: '', isWhole: true });
      expect(offsets.start(1001)).toBe(true);
    });

    it('does again what was not finished alone, and forgets nothing of the rest while it has not come up again', () => {
      fc.assert(
        fc.property(left, ({ unfinished, startedUpTo, finishes }) => {
          const committed = unfinished[0]!;
          const offsets = new ContiguousOffsets();
          const note = FinishedAhead.compose(unfinished, LAST).metadata;
          offsets.inherit(FinishedAhead.read(committed, note));
          const open = new Set(unfinished);
          const known = note === '' ? committed - 1 : LAST;
          for (let offset = committed; offset <= startedUpTo; offset += 1) {
            expect(offsets.start(offset)).toBe(offset > known || open.has(offset));
            open.add(offset);
            const wasFinished = offset <= known && !unfinished.includes(offset);
            if (!wasFinished && !finishes.next().value) continue;
            offsets.finish(offset);
            open.delete(offset);
          }
          if (startedUpTo < committed) return;
          const next = offsets.committable() ?? offsets.lowestUnfinished!;
          const passedOn = FinishedAhead.read(next, offsets.finishedAhead.metadata);
          const isDone = (offset: number): boolean =>
            offset < next || passedOn?.includes(offset) === true;
          for (let offset = committed; offset <= Math.max(LAST, startedUpTo); offset += 1) {
            const isKnown = offset <= startedUpTo || offset <= known;
            if (open.has(offset) || !isKnown) expect(isDone(offset)).toBe(false);
            else if (offset !== next) expect(isDone(offset)).toBe(true);
          }
          expect(offsets.finishedAhead.isWhole).toBe(true);
        }),
      );
    });
  });
});
