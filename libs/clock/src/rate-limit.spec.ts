import { RateLimit } from './rate-limit.js';

describe('a rate limit', () => {
  it('lets a burst through, then so much a second, for each sender', () => {
    const limit = new RateLimit(10, 2);
    expect(limit.take('a', 10, 0)).toBe(0);
    expect(limit.take('a', 3, 0)).toBe(2);
    expect(limit.take('b', 3, 0)).toBe(0);
    expect(limit.take('a', 3, 1500)).toBe(0);
    expect(limit.take('a', 1, 1500)).toBe(1);
  });

  it('lets through what is more than a burst when the bucket is full', () => {
    const limit = new RateLimit(10, 2);
    expect(limit.take('a', 20, 0)).toBe(0);
    expect(limit.take('a', 1, 0)).toBe(6);
  });
});
