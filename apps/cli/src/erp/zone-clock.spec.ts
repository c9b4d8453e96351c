import { clockIn } from './zone-clock.js';

describe('the clock of a zone', () => {
  it.each([
    ['UTC', '2023-12-04T00:00:00Z', '2023-12-04T00:00:00Z'],
    ['Europe/London', '2023-12-04T12:00:00Z', '2023-12-04T12:00:00Z'],
    ['Europe/Berlin', '2023-12-04T05:00:00Z', '2023-12-04T06:00:00+01:00'],
    ['Europe/Berlin', '2023-07-04T04:00:00Z', '2023-07-04T06:00:00+02:00'],
    ['Europe/Berlin', '2023-12-03T23:00:00Z', '2023-12-04T00:00:00+01:00'],
    ['America/Denver', '2024-01-01T03:04:05Z', '2023-12-31T20:04:05-07:00'],
    ['Asia/Kathmandu', '2023-12-04T06:15:00Z', '2023-12-04T12:00:00+05:45'],
  ])('in %s shows %s as %s', (timeZone, instant, shown) => {
    expect(clockIn(timeZone)(Date.parse(instant) / 1000)).toBe(shown);
  });
});
