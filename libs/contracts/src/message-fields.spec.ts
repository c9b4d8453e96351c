import fc from 'fast-check';
import { describeAhead, readEpochSeconds, rfc3339 } from './message-fields.js';

const secondsOf = (value: unknown): number | string => {
  const reading = readEpochSeconds(value);
  return reading.ok ? reading.seconds : reading.problem;
};

describe('reading a time', () => {
  it.each([
    ['a number', 1_763_680_000, 1_763_680_000],
    ['digits', '1763680000', 1_763_680_000],
    ['RFC 3339 in UTC', '2025-11-20T23:06:40Z', 1_763_680_000],
    ['RFC 3339 with an offset', '2025-11-21T00:06:40+01:00', 1_763_680_000],
    ['an offset behind UTC', '2025-11-20T17:36:40-05:30', 1_763_680_000],
    ['a fraction, which is dropped', '2025-11-20T23:06:40.999Z', 1_763_680_000],
    ['a fraction of any length', `2025-11-20T23:06:40.${'9'.repeat(12)}Z`, 1_763_680_000],
    ['small letters', '2025-11-20t23:06:40z', 1_763_680_000],
    ['a leap second', '2016-12-31T23:59:60Z', 1_483_228_800],
    ['the beginning of time', 0, 0],
  ])('takes %s', (_name, value, expected) => {
    expect(secondsOf(value)).toBe(expected);
  });

  it.each([
    ['milliseconds', 1_763_680_000_000, 'milliseconds are refused'],
    ['milliseconds as digits', '1763680000000', 'milliseconds are refused'],
    ['infinity', Number.POSITIVE_INFINITY, 'milliseconds are refused'],
    ['half a second', 1_763_680_000.5, 'whole'],
    ['a time before 1970', -1, '1970'],
    ['a date-time before 1970', '1969-12-31T23:59:59Z', '1970'],
    ['the last date of a calendar, for none', '9999-12-31T23:59:59Z', 'after the year 5138'],
    ['a date-time without offset', '2025-11-20T23:06:40', 'offset'],
    ['a date alone', '2025-11-20', 'offset'],
    ['a thirtieth of February', '2025-02-30T00:00:00Z', 'no existing time'],
    ['month 13', '2025-13-01T00:00:00Z', 'no existing time'],
    ['hour 24', '2025-11-20T24:00:00Z', 'no existing time'],
    ['a leap second at noon', '2016-12-31T12:00:60Z', 'no existing time'],
    ['an offset of a day', '2025-11-20T23:06:40+24:00', 'no existing time'],
    ['space around digits', ' 1763680000', 'must be epoch seconds'],
    ['a truth', true, 'must be epoch seconds'],
    ['an array', [1_763_680_000], 'must be epoch seconds'],
  ])('refuses %s', (_name, value, complaint) => {
    expect(secondsOf(value)).toEqual(expect.stringContaining(complaint));
  });

  it('reads back every second that it writes', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 99_999_999_999 }), (seconds) => {
        expect(secondsOf(rfc3339(seconds))).toBe(seconds);
      }),
    );
  });
});

describe('a time ahead', () => {
  it('is described without a date where none exists, as for a record timestamp in nanoseconds', () => {
    const seconds = 1_763_680_000_000_000;
    expect(describeAhead(seconds, 300)).toBe(`${seconds} lies more than 300 s ahead of the clock`);
  });
});
