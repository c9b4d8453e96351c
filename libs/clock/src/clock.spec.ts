import { jest } from '@jest/globals';
import { Clock, ManualClock, realDelayMs, realEpochMs, realNowMs } from './index.js';

describe('Clock', () => {
  it('shows real time at speed 1', () => {
    expect(Math.abs(new Clock().nowMs() - realEpochMs())).toBeLessThan(1000);
  });

  it('runs faster from its origin by the factor of its speed', () => {
    const originSeconds = realEpochMs() / 1000 - 10;
    const elapsed = new Clock({ speed: 60, originSeconds }).nowSeconds() - originSeconds;
    expect(elapsed).toBeGreaterThanOrEqual(599);
    expect(elapsed).toBeLessThan(660);
  });

  it('sleeps in its own seconds', async () => {
    const clock = new Clock({ speed: 1000, originSeconds: realEpochMs() / 1000 });
    const before = realNowMs();
    const until = clock.nowSeconds() + 60;
    await clock.sleepSeconds(60);
    expect(clock.nowSeconds()).toBeGreaterThanOrEqual(until);
    expect(realNowMs() - before).toBeLessThan(10_000);
  });

  it('sleeps no longer when the wall clock is set back meanwhile', async () => {
    const clock = new Clock({ speed: 1000, originSeconds: realEpochMs() / 1000 });
    const beforeMs = clock.monotonicMs();
    const sleep = clock.sleepSeconds(60);
    const real = Date.now.bind(Date);
    const setBack = jest.spyOn(Date, 'now').mockImplementation(() => real() - 3_600_000);
    await sleep;
    setBack.mockRestore();
    expect(clock.monotonicMs() - beforeMs).toBeGreaterThanOrEqual(60_000);
  });

  it('rejects a sleep with the reason of its signal', async () => {
    const controller = new AbortController();
    const sleep = new Clock().sleepSeconds(3600, controller.signal);
    controller.abort(new Error('stopping'));
    await expect(sleep).rejects.toThrow('stopping');
    await expect(realDelayMs(1, controller.signal)).rejects.toThrow('stopping');
  });
});

describe('ManualClock', () => {
  it('wakes only sleepers whose time has come', async () => {
    const clock = new ManualClock();
    clock.set(1000);
    const woken: string[] = [];
    const early = clock.sleepSeconds(10).then(() => woken.push('early'));
    const late = clock.sleepUntilMonotonicMs(1_100_000).then(() => woken.push('late'));
    clock.advance(10);
    await early;
    expect(woken).toEqual(['early']);
    clock.set(1100);
    await late;
    expect(woken).toEqual(['early', 'late']);
  });

  it('lets no time pass when its wall clock is set', () => {
    const clock = new ManualClock(5_000_000);
    clock.shiftWallClock(-3600);
    expect([clock.nowSeconds(), clock.monotonicMs()]).toEqual([1400, 5_000_000]);
    clock.advance(10);
    expect([clock.nowSeconds(), clock.monotonicMs()]).toEqual([1410, 5_010_000]);
  });

  it('forgets a sleeper whose signal aborts', async () => {
    const controller = new AbortController();
    const sleep = new ManualClock().sleepSeconds(1, controller.signal);
    controller.abort(new Error('stopping'));
    await expect(sleep).rejects.toThrow('stopping');
  });
});
