import fc from 'fast-check';
import { activityWindows, LONGEST_WINDOW_SECONDS } from './activity-log-reader.js';

describe('activityWindows', () => {
  it('covers a period with windows that touch, none longer than 30 days', () => {
    fc.assert(
      fc.property(fc.nat(2e9), fc.nat(2e7), (from, length) => {
        const windows = activityWindows(from, from + length);
        let until = from;
        for (const { startTime, endTime } of windows) {
          expect(startTime).toBe(until);
          expect(endTime - startTime).toBeLessThanOrEqual(LONGEST_WINDOW_SECONDS);
          until = endTime;
        }
        expect(until).toBe(from + length);
      }),
    );
  });
});
