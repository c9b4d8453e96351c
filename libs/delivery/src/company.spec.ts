import fc from 'fast-check';
import { ANY_COMPANY, companyAfter } from './company.js';

const had = fc.integer({ min: 1, max: 1000 });
const slowness = fc.double({ min: 4, max: 10_000, noNaN: true });

describe('companyAfter', () => {
  const afterSlow = (machines: number, times: number): number =>
    companyAfter(ANY_COMPANY, machines, { slowness: times });

  it('leaves each machine of a slow call alone where that is cheap: usual calls are quick', () => {
    // 3 s where 20 ms are usual, and where 100 ms are
    expect(afterSlow(100, 150)).toBe(1);
    expect(afterSlow(100, 30)).toBe(1);
  });

  it('parts the machines of a call into no more calls than its slowness is worth', () => {
    expect(afterSlow(100, 4)).toBe(12);
    expect(afterSlow(100, 10)).toBe(5);
    fc.assert(
      fc.property(had, slowness, (machines, times) => {
        const company = afterSlow(machines, times);
        // rounding to whole machines may double the calls
        expect(machines / company).toBeLessThanOrEqual(2 * 2 * times);
      }),
    );
  });

  it('finds a machine that is slow no later than one that fails', () => {
    fc.assert(
      fc.property(had, slowness, (machines, times) => {
        const afterFailure = companyAfter(ANY_COMPANY, machines, 'suspect');
        expect(afterSlow(machines, times)).toBeLessThanOrEqual(afterFailure);
        expect(afterSlow(machines, times)).toBeGreaterThanOrEqual(1);
      }),
    );
  });
});
