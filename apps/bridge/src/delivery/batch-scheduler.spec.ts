import { jest } from '@jest/globals';
import { realNowMs } from '#libs/clock';
import { CallSpread, WakeTimer } from './batch-scheduler.js';

const NOW_MS = 5000;

describe('CallSpread', () => {
  let spread: CallSpread;

  beforeEach(() => {
    spread = new CallSpread();
  });

  const calls = (count: number, atMs: number): void => {
    for (let call = 1; call <= count; call += 1) spread.begun(atMs, false);
  };

  it.each([
    [0, 1],
    [1, 1],
    [8, 1],
    [9, 2],
    [17, 3],
    [25, 4],
    [99, 4],
  ])('lets %i machines share %i calls while commands keep coming', (machines, shared) => {
    calls(10, NOW_MS - 999);
    expect(spread.callsFor(machines, NOW_MS)).toBe(shared);
  });

  it('lets all share a call that come on their own', () => {
    expect(spread.callsFor(99, NOW_MS)).toBe(1);
    calls(1, NOW_MS - 1000);
    calls(9, NOW_MS - 1);
    expect(spread.callsFor(99, NOW_MS)).toBe(1);
    calls(1, NOW_MS - 1);
    expect(spread.callsFor(99, NOW_MS)).toBe(4);
  });

  it('lets all share a call as long as calls fill up', () => {
    spread.begun(NOW_MS - 999, true);
    calls(10, NOW_MS - 20);
    expect(spread.callsFor(99, NOW_MS)).toBe(1);
    expect(spread.callsFor(99, NOW_MS + 1)).toBe(4);
  });
});

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
