import { renewalPauseMs } from './renewal-pause.js';

describe('the pause after a renewal that failed', () => {
  it('doubles up to a minute', () => {
    const pauses = [1, 2, 3, 7, 8, 1000].map((count) =>
      renewalPauseMs(count, 'unavailable', () => 1),
    );
    expect(pauses).toEqual([1000, 2000, 4000, 60_000, 60_000, 60_000]);
  });

  it('is longer when the credentials were refused', () => {
    expect([1, 2, 5].map((count) => renewalPauseMs(count, 'refused', () => 1))).toEqual([
      5000, 10_000, 60_000,
    ]);
  });

  it('is shortened at random, by half at most', () => {
    expect(renewalPauseMs(1, 'unavailable', () => 0)).toBe(500);
  });
});
