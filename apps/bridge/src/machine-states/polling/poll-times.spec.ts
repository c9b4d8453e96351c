import fc from 'fast-check';
import { activityWindows, LONGEST_WINDOW_SECONDS } from './activity-windows.js';
import { nextPollMs, phaseMs } from './poll-times.js';

describe('the turns of machines', () => {
  it('come once an interval, at the same place in it', () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(1e12), (machineId, now) => {
        const phase = phaseMs(machineId, 60_000);
        const first = nextPollMs(phase, 60_000, now);
        expect(first).toBeGreaterThan(now);
        expect(first).toBeLessThanOrEqual(now + 60_000);
        expect(nextPollMs(phase, 60_000, first)).toBe(first + 60_000);
      }),
    );
  });

  it('are spread over the interval', () => {
    const perSecond = new Map<number, number>();
    for (let i = 0; i < 6000; i += 1) {
      const second = Math.floor(phaseMs(`M-${i}`, 60_000) / 1000);
      perSecond.set(second, (perSecond.get(second) ?? 0) + 1);
    }
    expect(perSecond.size).toBe(60);
    expect(Math.max(...perSecond.values())).toBeLessThan(200);
  });
});

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
