import { readRetryAfter } from './retry-after.js';

const NOW_MS = Date.UTC(2025, 10, 21, 12, 0, 0);

describe('readRetryAfter', () => {
  it.each([
    ['7', 7000],
    [' 0 ', 0],
    ['1.5', 1500],
    ['Fri, 21 Nov 2025 12:00:30 GMT', 30_000],
    ['Friday, 21-Nov-25 12:00:30 GMT', 30_000],
    ['Fri Nov 21 12:00:30 2025', 30_000],
  ])('reads %j', (retryAfter, ms) => {
    expect(readRetryAfter({ retryAfter }, NOW_MS)).toBe(ms);
  });

  it.each([undefined, '', '-5', 'soon', 'Someday, maybe', '2025-11-21T12:00:30Z', 'NaN'])(
    'takes %j for no header',
    (retryAfter) => {
      expect(readRetryAfter({ retryAfter }, NOW_MS)).toBeNull();
    },
  );

  it("compares a date with the answer's own date rather than with our clock", () => {
    const retryAfter = 'Fri, 21 Nov 2025 18:00:10 GMT';
    const date = 'Fri, 21 Nov 2025 18:00:00 GMT';
    expect(readRetryAfter({ retryAfter, date }, NOW_MS)).toBe(10_000);
  });

  it('waits for nothing when the date has passed', () => {
    expect(readRetryAfter({ retryAfter: 'Fri, 21 Nov 2025 11:00:00 GMT' }, NOW_MS)).toBe(0);
  });

  it.each(['99999999999999999999', 'Fri, 21 Nov 2525 12:00:00 GMT'])(
    'waits a day at most for %j',
    (retryAfter) => {
      expect(readRetryAfter({ retryAfter }, NOW_MS)).toBe(86_400_000);
    },
  );
});
