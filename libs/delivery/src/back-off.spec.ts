import fc from 'fast-check';
import { backOffMs } from './back-off.js';

const options = { baseMs: 200, capMs: 10_000 };
const longest = (): number => 1;

describe('backOffMs', () => {
  it('doubles the longest wait with every attempt, from the base up to the cap', () => {
    const waits = [1, 2, 3, 6, 7, 8].map((attempt) => backOffMs(attempt, options, longest));
    expect(waits).toEqual([200, 400, 800, 6400, 10_000, 10_000]);
  });

  it('may be 0, so that calls that failed together are not repeated together', () => {
    expect(backOffMs(5, options, () => 0)).toBe(0);
  });

  it('is whole milliseconds within the cap, however many attempts there were', () => {
    const random = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000_000 }), random, (attempt, chance) => {
        const waitMs = backOffMs(attempt, options, () => chance);
        expect(Number.isInteger(waitMs)).toBe(true);
        expect(waitMs).toBeGreaterThanOrEqual(0);
        expect(waitMs).toBeLessThanOrEqual(options.capMs);
      }),
    );
  });
});
