import fc from 'fast-check';
import { decodeGaps, encodeGaps } from './gap-codes.js';

const gap = fc.oneof(
  fc.constant(1),
  fc.integer({ min: 1, max: 50 }),
  fc.integer({ min: 1, max: 2 ** 30 }),
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
    ['gaps of one', 1, 5.5],
    ['gaps of two', 2, 1.9],
    ['gaps of a hundred', 100, 0.6],
  ])('have room in a character for %s: %d, at least %d of them', (_, each, perCharacter) => {
    const gaps = new Array<number>(1000).fill(each);
    // a single wide one costs the others nothing
    gaps[500] = 250_000;
    const { text, count } = encodeGaps(gaps, Infinity);
    expect(count).toBe(1000);
    expect(1000 / text.length).toBeGreaterThan(perCharacter);
  });

  it('have no room for a gap that no partition has, nor for what comes after', () => {
    expect(encodeGaps([3, 2 ** 31, 1], 100).count).toBe(1);
  });
});
