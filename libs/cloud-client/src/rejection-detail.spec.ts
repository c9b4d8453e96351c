import { describeRejection } from './rejection-detail.js';

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
