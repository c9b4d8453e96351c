import fc from 'fast-check';
import { operatingSeconds, overlap, type Period, secondsOf, without } from './periods.js';

const period = fc
  .record({
    startTime: fc.integer({ min: 0, max: 500 }),
    length: fc.integer({ min: 1, max: 200 }),
    isOpen: fc.boolean(),
  })
  .map(({ startTime, length, isOpen }): Period => ({
    startTime,
    endTime: isOpen ? null : startTime + length,
  }));

const covers = (periods: readonly Period[], at: number): boolean =>
  periods.some(({ startTime, endTime }) => startTime <= at && at < (endTime ?? Infinity));

describe('periods', () => {
  it('leave of one another exactly what none of them covers', () => {
    fc.assert(
      fc.property(
        period,
        fc.array(period, { maxLength: 5 }),
        fc.integer({ min: 0, max: 800 }),
        (whole, others, at) => {
          expect(covers(without(whole, others), at)).toBe(
            covers([whole], at) && !covers(others, at),
          );
        },
      ),
    );
  });

  it('do not overlap where one ends as the other begins', () => {
    expect(overlap({ startTime: 0, endTime: 60 }, { startTime: 60, endTime: null })).toBe(false);
  });

  it('last until now while they go on', () => {
    expect(secondsOf({ startTime: 100, endTime: null }, 160)).toBe(60);
  });

  it('count the seconds in which the machine ran', () => {
    const periods = [
      { state: 'OPERATING', startTime: 0, endTime: 100 },
      { state: 'IDLE', startTime: 100, endTime: 200 },
      { state: 'OPERATING', startTime: 200, endTime: null },
    ];
    expect(operatingSeconds(periods, { startTime: 50, endTime: null }, 230)).toBe(80);
    expect(operatingSeconds(periods, { startTime: 100, endTime: 200 }, 230)).toBe(0);
  });
});
