import {
  classifyStatus,
  describeRejection,
  readRetryAfter,
  type StatusClass,
} from './http-answer.js';

const TABLE: Record<StatusClass, number[]> = {
  success: [200, 201, 202, 206],
  noContent: [204, 205],
  unauthorised: [401, 403],
  rejected: [400, 404, 409, 413, 415, 422],
  retry: [
    101, 301, 302, 307, 308, 402, 405, 407, 408, 410, 414, 418, 431, 423, 451, 425, 429, 500, 501,
    502, 503, 504, 507, 599, 999,
  ],
};

describe('classifyStatus', () => {
  const rows = Object.entries(TABLE).flatMap(([statusClass, statuses]) =>
    statuses.map((status) => [status, statusClass] as const),
  );

  it.each(rows)('takes %i as %s', (status, statusClass) => {
    expect(classifyStatus(status)).toBe(statusClass);
  });
});

describe('describeRejection', () => {
  it.each([
    ['', 'HTTP 422'],
    ['Missing machine ID', 'HTTP 422: Missing machine ID'],
    ['{"message":"Missing machine ID"}', 'HTTP 422: Missing machine ID'],
    ['{"error":{"code":7}}', 'HTTP 422: {"error":{"code":7}}'],
    ['"too late"', 'HTTP 422: too late'],
    ['line one\r\n\tline\u0000two', 'HTTP 422: line one line two'],
  ])('makes one line of %j', (body, detail) => {
    expect(describeRejection(422, body)).toBe(detail);
  });

  it('keeps only the beginning of a long body', () => {
    expect(describeRejection(400, 'x'.repeat(10_000)).length).toBeLessThan(400);
  });

  it('says that a redirect is not followed', () => {
    expect(describeRejection(302, '<a href="/">')).toBe('HTTP 302: redirects are not followed');
  });
});

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
