import fc from 'fast-check';
import { decodeGaps, encodeGaps } from './gap-codes.js';

const gap = fc.oneof(
  fc.constant(1),
  fc.integer({ min: 1, max: 50 }),
  fc.integer({ min: 1, max: 2 ** 50 }),
);

describe('gap codes', () => {
  it('give back the gaps that have room', () => {
    fc.assert(
      fc.property(
        fc.array(gap, { maxLength: 300 }),
        fc.integer({ min: 20, max: 400 }),
        (gaps, room) => {
          const { text, count } = encodeGaps(gaps, room);
          expect(text.length).toBeLessThanOrEqual(room);
          expect(text).toMatch(/^[\w-]*$/);
          expect(decodeGaps(text)).toEqual(gaps.slice(0, count));
        },
      ),
    );
  });

  it.each([
    ['one', 1, 2],
    ['sixteen', 16, 1],
    ['two hundred', 200, 0.5],
  ])('have room in a character for gaps of %s: %d, %d of them', (_, each, perCharacter) => {
    const { text, count } = encodeGaps(new Array<number>(1000).fill(each), Infinity);
    expect([count, 1000 / text.length]).toEqual([1000, perCharacter]);
  });

  it('take no more for a sum of gaps than for the gaps', () => {
    fc.assert(
      fc.property(gap, gap, (one, other) => {
        // twice each, so that no half of a character is filled
        const lengthOf = (...gaps: number[]) =>
          encodeGaps([...gaps, ...gaps], Infinity).text.length;
        expect(lengthOf(one + other)).toBeLessThanOrEqual(lengthOf(one, other));
      }),
    );
  });
});
