import fc from 'fast-check';
import { operatingSeconds, overlap, type Period, secondsOf, subtractPeriods } from './periods.js';
import { canSplit, snapSplit, splitAt } from './split.js';

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
          expect(covers(subtractPeriods(whole, others), at)).toBe(
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

const stop = { startTime: 600, endTime: 1200 };

describe('splitting a stop', () => {
  it('snaps to the minute and leaves at least one on either side', () => {
    expect(snapSplit(915, stop, 0)).toBe(900);
    expect(snapSplit(0, stop, 0)).toBe(660);
    expect(snapSplit(9999, stop, 0)).toBe(1140);
  });

  it('ends at now while the stop goes on, and leaves its second part open', () => {
    const open = { startTime: 600, endTime: null };
    expect(snapSplit(9999, open, 1000)).toBe(900);
    expect(splitAt(open, 900)).toEqual([
      { startTime: 600, endTime: 900 },
      { startTime: 900, endTime: null },
    ]);
  });

  it('is not offered for what is shorter than two minutes', () => {
    expect(canSplit({ startTime: 600, endTime: 720 }, 0)).toBe(true);
    expect(canSplit({ startTime: 600, endTime: 700 }, 0)).toBe(false);
    expect(canSplit({ startTime: 630, endTime: 750 }, 0)).toBe(false);
  });
});
