import type { HttpReply } from './http-transport.js';
import { bodyRead, type HttpAnswer, readRetryAfter, toAnswer } from './http-answer.js';

const NOW_MS = Date.UTC(2025, 10, 21, 12, 0, 0);

function answerOf(status: number, body = '{}'): HttpAnswer<string> {
  const reply: HttpReply = { kind: 'reply', status, headers: {}, body, beginning: undefined };
  return toAnswer(
    'readIt',
    reply,
    bodyRead(() => 'read'),
    NOW_MS,
  );
}

const TABLE: Record<HttpAnswer<string>['kind'], number[]> = {
  data: [200, 201, 202, 206],
  noData: [204, 205],
  unauthorised: [401, 403],
  rejected: [400, 404, 409, 413, 415, 422],
  retry: [
    101, 301, 302, 307, 308, 402, 405, 407, 408, 410, 414, 418, 431, 423, 451, 425, 429, 500, 501,
    502, 503, 504, 507, 599, 999,
  ],
};

describe('an answer', () => {
  const rows = Object.entries(TABLE).flatMap(([kind, statuses]) =>
    statuses.map((status) => [status, kind] as const),
  );

  it.each(rows)('of %i is %s', (status, kind) => {
    expect(answerOf(status).kind).toBe(kind);
  });

  it.each([
    ['', 'HTTP 422'],
    ['Missing machine ID', 'HTTP 422: Missing machine ID'],
    ['{"message":"Missing machine ID"}', 'HTTP 422: Missing machine ID'],
    ['{"error":{"code":7}}', 'HTTP 422: {"error":{"code":7}}'],
    ['"too late"', 'HTTP 422: too late'],
    ['line one\r\n\tline\u0000two', 'HTTP 422: line one line two'],
    ['{"message":"half \\ud83d of one"}', 'HTTP 422: half \ufffd of one'],
  ])('that rejects has one line for %j', (body, detail) => {
    expect(answerOf(422, body)).toEqual({ kind: 'rejected', status: 422, detail });
  });

  it('keeps only the beginning of a long body', () => {
    const detail = `HTTP 400: ${'x'.repeat(289)}…`;
    expect(answerOf(400, 'x'.repeat(10_000))).toMatchObject({ detail });
  });

  it('cuts no character in half', () => {
    const detail = `HTTP 400: ${'x'.repeat(288)}…`;
    expect(answerOf(400, `${'x'.repeat(288)}${'😀'.repeat(100)}`)).toMatchObject({ detail });
  });

  it('says that a redirect is not followed', () => {
    const message = 'readIt: HTTP 302: redirects are not followed';
    expect(answerOf(302, '<a href="/">')).toMatchObject({ error: { message } });
  });
});

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
    'ignores the header %j',
    (retryAfter) => {
      expect(readRetryAfter({ retryAfter }, NOW_MS)).toBeNull();
    },
  );

  it("compares a date with the answer's own date rather than with our clock", () => {
    const retryAfter = 'Fri, 21 Nov 2025 18:00:10 GMT';
    const date = 'Fri, 21 Nov 2025 18:00:00 GMT';
    expect(readRetryAfter({ retryAfter, date }, NOW_MS)).toBe(10_000);
  });

  it('does not wait when the date has passed', () => {
    expect(readRetryAfter({ retryAfter: 'Fri, 21 Nov 2025 11:00:00 GMT' }, NOW_MS)).toBe(0);
  });

  it.each(['99999999999999999999', 'Fri, 21 Nov 2525 12:00:00 GMT'])(
    'waits a day at most for %j',
    (retryAfter) => {
      expect(readRetryAfter({ retryAfter }, NOW_MS)).toBe(86_400_000);
    },
  );
});
