import { canSplit, snapSplit, splitAt } from './split.js';

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
