import { networkOf, RateLimit } from './rate-limit.js';

describe('a rate limit', () => {
  it('allows a burst, then a rate per second, for each sender', () => {
    const limit = new RateLimit(10, 2);
    expect(limit.takeTokens('a', 10, { nowMs: 0 })).toBe(0);
    expect(limit.takeTokens('a', 3, { nowMs: 0 })).toBe(2);
    expect(limit.takeTokens('b', 3, { nowMs: 0 })).toBe(0);
    expect(limit.takeTokens('a', 3, { nowMs: 1500 })).toBe(0);
    expect(limit.takeTokens('a', 1, { nowMs: 1500 })).toBe(1);
  });

  it('allows more than a burst when the bucket is full', () => {
    const limit = new RateLimit(10, 2);
    expect(limit.takeTokens('a', 20, { nowMs: 0 })).toBe(0);
    expect(limit.takeTokens('a', 1, { nowMs: 0 })).toBe(6);
  });

  it('counts a bucket as full from which the same request has taken', () => {
    const limit = new RateLimit(10, 2);
    expect(limit.takeTokens('a', 1, { nowMs: 0 })).toBe(0);
    expect(limit.takeTokens('a', 19, { taken: 1, nowMs: 0 })).toBe(0);
    expect(limit.takeTokens('a', 1, { nowMs: 0 })).toBe(6);
  });
});

describe('the network of an address', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:db8::9', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    [undefined, ''],
  ])('of %s is %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});
