import fc from 'fast-check';
import { epochSecondsOf, type LocalTime, offsetSeconds } from './time-zone.js';

const at = (text: string): LocalTime => {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = text
    .split(/[-T:]/)
    .map(Number);
  return { year, month, day, hour, minute, second };
};
const instant = (local: string, timeZone: string): string =>
  new Date(epochSecondsOf(at(local), timeZone) * 1000).toISOString();

describe('a local time', () => {
  it.each([
    ['in winter', '2023-12-04T16:46:53', 'Europe/Berlin', '2023-12-04T15:46:53.000Z'],
    ['in summer', '2023-07-04T16:46:53', 'Europe/Berlin', '2023-07-04T14:46:53.000Z'],
    ['at the end of a day', '2023-12-04T24:00:00', 'Europe/Berlin', '2023-12-04T23:00:00.000Z'],
    ['at the end of a year', '2023-12-31T24:00:00', 'UTC', '2024-01-01T00:00:00.000Z'],
    ['with an odd offset', '2023-12-04T12:00:00', 'Asia/Kathmandu', '2023-12-04T06:15:00.000Z'],
    ['west of UTC', '2023-12-04T20:00:00', 'America/Denver', '2023-12-05T03:00:00.000Z'],
    ['just before a gap', '2024-03-31T01:59:59', 'Europe/Berlin', '2024-03-31T00:59:59.000Z'],
    ['within a gap', '2024-03-31T02:30:00', 'Europe/Berlin', '2024-03-31T01:30:00.000Z'],
    ['just after a gap', '2024-03-31T03:00:00', 'Europe/Berlin', '2024-03-31T01:00:00.000Z'],
    ['just before an overlap', '2024-10-27T01:59:59', 'Europe/Berlin', '2024-10-26T23:59:59.000Z'],
    ['that comes twice', '2024-10-27T02:30:00', 'Europe/Berlin', '2024-10-27T00:30:00.000Z'],
    ['just after an overlap', '2024-10-27T03:00:00', 'Europe/Berlin', '2024-10-27T02:00:00.000Z'],
    ['in a gap west of UTC', '2024-03-10T02:30:00', 'America/New_York', '2024-03-10T07:30:00.000Z'],
    ['twice west of UTC', '2024-11-03T01:30:00', 'America/New_York', '2024-11-03T05:30:00.000Z'],
    [
      'in a gap of 30 min',
      '2024-10-06T02:15:00',
      'Australia/Lord_Howe',
      '2024-10-05T15:45:00.000Z',
    ],
  ])('%s', (_name, local, timeZone, expected) => {
    expect(instant(local, timeZone)).toBe(expected);
  });

  it('is converted back to its instant where the clock shows every second once', () => {
    const seconds = fc.integer({ min: 0, max: 4_000_000_000 });
    fc.assert(
      fc.property(seconds, (epochSeconds) => {
        const local = at(new Date(epochSeconds * 1000).toISOString().slice(0, 19));
        expect(epochSecondsOf(local, 'UTC')).toBe(epochSeconds);
        expect(epochSecondsOf(local, 'Asia/Kolkata')).toBe(epochSeconds - 19_800);
      }),
    );
  });

  it('is refused in a zone that does not exist', () => {
    expect(() => instant('2023-12-04T12:00:00', 'Europe/Atlantis')).toThrow(RangeError);
  });
});

describe('the offset of a zone', () => {
  it.each([
    'Europe/Berlin',
    'America/St_Johns',
    'Australia/Lord_Howe',
    'Pacific/Apia',
    'Africa/Casablanca',
    'Africa/Monrovia',
    'Asia/Gaza',
  ])('is that of the calendar, on days on which it changes, too: %s', (timeZone) => {
    const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
    const expected = (epochSeconds: number): number => {
      const parts = format.formatToParts(epochSeconds * 1000);
      const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
      const [, sign, hours = 0, minutes = 0, seconds = 0] =
        /([+-])(\d{2}):(\d{2})(?::(\d{2}))?/.exec(name) ?? [];
      const ahead = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
      return sign === '-' ? -ahead : ahead;
    };
    const hours = fc.integer({ min: 0, max: 60 * 365 * 24 });
    fc.assert(
      fc.property(hours, fc.integer({ min: 0, max: 3599 }), (hour, second) => {
        const instant = hour * 3600 + second;
        return offsetSeconds(instant, timeZone) === expected(instant);
      }),
      { numRuns: 2000 },
    );
    for (let day = 19_000; day < 19_800; day += 1) {
      const [begin, end] = [day * 86_400, (day + 1) * 86_400];
      const atBegin = expected(begin);
      // the calendar is slow: it is read by the hour only on a day on which the offset changes
      const isChanging = atBegin !== expected(end);
      for (let instant = begin; instant < end; instant += 3600) {
        const offset = isChanging ? expected(instant) : atBegin;
        if (offsetSeconds(instant, timeZone) !== offset) throw new Error(`at ${instant}`);
      }
    }
  });
});
