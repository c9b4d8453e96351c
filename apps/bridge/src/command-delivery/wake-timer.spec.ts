import { jest } from '@jest/globals';
import { realNowMs } from '#libs/clock';
import { WakeTimer } from './wake-timer.js';

const A_MONTH_MS = 30 * 24 * 3_600_000;

describe('WakeTimer', () => {
  let wokenMs: number[];
  let timer: WakeTimer;

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['Date', 'nextTick', 'queueMicrotask', 'setImmediate'] });
    wokenMs = [];
    const startMs = realNowMs();
    timer = new WakeTimer(() => wokenMs.push(realNowMs() - startMs));
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  const wakeIn = (ms: number): void => {
    timer.wakeAt(realNowMs() + ms);
  };

  it('wakes once, at the earliest of the times it was asked for', () => {
    for (const ms of [500, 200, 300]) wakeIn(ms);
    expect(jest.getTimerCount()).toBe(1);
    jest.advanceTimersByTime(A_MONTH_MS);
    expect(wokenMs).toEqual([200]);
  });

  it('wakes again when it is asked again', () => {
    wakeIn(200);
    jest.advanceTimersByTime(200);
    wakeIn(300);
    jest.advanceTimersByTime(300);
    expect(wokenMs).toEqual([200, 500]);
  });

  it('wakes soon for what is due already, and not before it is asked', () => {
    wakeIn(-1000);
    expect(wokenMs).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(wokenMs).toEqual([1]);
  });

  it('wakes somewhat early rather than at once for a time no timer reaches', () => {
    wakeIn(A_MONTH_MS);
    jest.advanceTimersByTime(1000);
    expect(wokenMs).toEqual([]);
    jest.advanceTimersByTime(A_MONTH_MS);
    expect(wokenMs).toHaveLength(1);
  });
});
