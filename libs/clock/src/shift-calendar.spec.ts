import fc from 'fast-check';
import { ShiftCalendar } from './shift-calendar.js';

const at = (text: string): number => Date.parse(text) / 1000;
const STARTS = ['06:00', '14:00', '22:00'];

describe('the shift calendar', () => {
  it('finds the shift that is in progress, the night shift across midnight included', () => {
    const calendar = new ShiftCalendar({ timeZone: 'UTC', startTimes: STARTS });
    expect(calendar.shiftAt(at('2025-11-13T02:00:00Z'))).toEqual({
      startTime: at('2025-11-12T22:00:00Z'),
      endTime: at('2025-11-13T06:00:00Z'),
      index: 2,
      weekday: 3,
    });
  });

  it('begins a shift at its very start', () => {
    const calendar = new ShiftCalendar({ timeZone: 'UTC', startTimes: STARTS });
    const start = at('2025-11-12T14:00:00Z');
    expect(calendar.shiftAt(start).startTime).toBe(start);
    expect(calendar.shiftAt(start - 1).endTime).toBe(start);
  });

  it('goes by the local time of the plant', () => {
    const calendar = new ShiftCalendar({ timeZone: 'Europe/Berlin', startTimes: STARTS });
    expect(calendar.shiftAt(at('2025-07-01T05:00:00Z')).startTime).toBe(at('2025-07-01T04:00:00Z'));
    expect(calendar.shiftAt(at('2025-12-01T05:30:00Z')).startTime).toBe(at('2025-12-01T05:00:00Z'));
  });

  it('has a longer night shift when the clocks go back, a shorter one when they go forward', () => {
    const calendar = new ShiftCalendar({ timeZone: 'Europe/Berlin', startTimes: STARTS });
    const hours = (text: string): number => {
      const { startTime, endTime } = calendar.shiftAt(at(text));
      return (endTime - startTime) / 3600;
    };
    expect(hours('2025-10-26T00:30:00Z')).toBe(9);
    expect(hours('2025-03-30T00:30:00Z')).toBe(7);
  });

  it.each([
    ['America/New_York', '2025-03-09T07:00:00Z', '2025-11-02T07:00:00Z'],
    ['Europe/Berlin', '2025-03-30T01:00:00Z', '2025-10-26T00:00:00Z'],
  ])(
    'begins a shift at an hour that %s skips right after it, and once where it repeats',
    (timeZone, ...starts) => {
      const calendar = new ShiftCalendar({ timeZone, startTimes: ['02:00', '14:00'] });
      for (const start of starts.map(at)) {
        expect(calendar.shiftAt(start).startTime).toBe(start);
        expect(calendar.shiftAt(start - 1).endTime).toBe(start);
        expect(calendar.shiftAt(start + 3600).startTime).toBe(start);
      }
    },
  );

  it('lasts the whole day when there is one shift', () => {
    const calendar = new ShiftCalendar({ timeZone: 'UTC', startTimes: ['00:00'] });
    const { startTime, endTime } = calendar.shiftAt(at('2025-11-12T00:00:00Z'));
    expect(endTime - startTime).toBe(86_400);
  });

  it.each([
    ['Pacific/Apia', '2011-12-29T22:00:00-10:00', '2011-12-31T06:00:00+14:00'],
    ['Pacific/Kwajalein', '1993-08-20T22:00:00-12:00', '1993-08-22T06:00:00+12:00'],
  ])('begins no shift on the day that %s skipped', (timeZone, ...texts) => {
    const calendar = new ShiftCalendar({ timeZone, startTimes: STARTS });
    const [startTime = 0, endTime = 0] = texts.map(at);
    for (let time = startTime; time < endTime; time += 1800) {
      expect(calendar.shiftAt(time)).toMatchObject({ startTime, endTime });
    }
    expect(calendar.shiftAt(endTime).startTime).toBe(endTime);
  });

  it.each(['UTC', 'Europe/Berlin', 'America/St_Johns', 'Pacific/Apia', 'Australia/Lord_Howe'])(
    'gives every moment in %s a shift that contains it and that the next one follows',
    (timeZone) => {
      const calendar = new ShiftCalendar({ timeZone, startTimes: STARTS });
      fc.assert(
        fc.property(fc.integer({ min: 0, max: 4_000_000_000 }), (time) => {
          const { startTime, endTime } = calendar.shiftAt(time);
          expect(startTime).toBeLessThanOrEqual(time);
          expect(endTime).toBeGreaterThan(time);
          expect(calendar.shiftAt(endTime).startTime).toBe(endTime);
        }),
        { numRuns: 200 },
      );
    },
  );
});
