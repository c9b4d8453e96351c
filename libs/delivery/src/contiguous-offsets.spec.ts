import fc from 'fast-check';
import { ContiguousOffsets } from './contiguous-offsets.js';

/** Ascending offsets with gaps, as compaction and transaction markers leave them. */
const ascending = fc
  .tuple(fc.nat(1_000_000), fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 60 }))
  .map(([first, gaps]) =>
    gaps.reduce<number[]>((all, gap) => [...all, (all.at(-1) ?? first) + gap], []),
  );

/** What a new owner would receive again, were the committable offset committed now. */
function deliveredAgain(offsets: ContiguousOffsets, started: readonly number[]): number[] {
  const committed = offsets.committable() ?? 0;
  return started.filter((offset) => offset >= committed);
}

function fromLowestUnfinished(started: readonly number[], finished: ReadonlySet<number>): number[] {
  const lowest = started.findIndex((offset) => !finished.has(offset));
  return lowest === -1 ? [] : started.slice(lowest);
}

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

  it('would deliver again what begins with the lowest unfinished, in any order of starting and finishing', () => {
    fc.assert(
      fc.property(ascending, fc.infiniteStream(fc.nat()), (all, choices) => {
        const offsets = new ContiguousOffsets();
        const waiting = [...all];
        const open: number[] = [];
        const started: number[] = [];
        const finished = new Set<number>();
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
            finished.add(offset);
          }
          const expected = fromLowestUnfinished(started, finished);
          expect(deliveredAgain(offsets, started)).toEqual(expected);
          expect(offsets.pending).toBe(expected.length);
        }
        expect(finished.size).toBe(all.length);
      }),
    );
  });

  it('commits no further than the last finished message, over a gap that may still be filled', () => {
    const offsets = new ContiguousOffsets();
    offsets.start(3);
    offsets.start(10);
    offsets.finish(3);
    expect(offsets.committable()).toBe(4);
  });

  it('never goes back, whatever finishes twice or was never started', () => {
    const offsets = new ContiguousOffsets();
    offsets.start(1);
    offsets.start(2);
    offsets.finish(1);
    offsets.finish(1);
    offsets.finish(99);
    expect(offsets.committable()).toBe(2);
    expect(offsets.pending).toBe(1);
  });

  it('keeps count across the thousands that wait behind one that does not end', () => {
    const offsets = new ContiguousOffsets();
    const all = Array.from({ length: 5000 }, (_, offset) => offset);
    for (const offset of all) offsets.start(offset);
    for (const offset of all) if (offset !== 0 && offset !== 3000) offsets.finish(offset);
    expect(offsets.committable()).toBeUndefined();
    expect(offsets.pending).toBe(5000);
    offsets.finish(0);
    expect(offsets.committable()).toBe(3000);
    expect(offsets.pending).toBe(2000);
    offsets.finish(3000);
    expect(offsets.committable()).toBe(5000);
    expect(offsets.pending).toBe(0);
  });
});
