import fc from 'fast-check';
import { Newest } from './list-and-show.js';
import { deadLetter } from './testing/dead-letter.js';

const failing = (failedAt: number, offset: number) =>
  deadLetter({ offset, headers: { 'dlq-failed-at': String(failedAt) } });

describe('Newest', () => {
  it('keeps what failed last, the newest at the end, in whatever order it comes', () => {
    const times = fc.array(fc.nat({ max: 20 }), { maxLength: 60 });
    fc.assert(
      fc.property(times, fc.integer({ min: 1, max: 10 }), (all, limit) => {
        const newest = new Newest<number>(limit);
        for (const [offset, failedAt] of all.entries()) {
          newest.offer(failing(failedAt, offset), failedAt);
        }
        expect(newest.offered).toBe(all.length);
        expect(newest.inOrder()).toEqual([...all].sort((a, b) => a - b).slice(-limit));
      }),
    );
  });

  it('goes by the place where dead letters failed at the same time', () => {
    const newest = new Newest<string>(2);
    for (const offset of [7, 9, 8]) newest.offer(failing(1, offset), String(offset));
    expect(newest.inOrder()).toEqual(['8', '9']);
  });
});
