import { getEventListeners } from 'node:events';
import { jest } from '@jest/globals';
import { realDelayMs, realNowMs } from '#libs/clock';
import type { HttpAnswer } from '#libs/cloud-client';
import { RecentMisses, SharedLookUp } from './look-ups.js';

const GAP_MS = 60;

const data = (value: number): HttpAnswer<number> => ({ kind: 'data', data: value });

function countedLookUp(signal = new AbortController().signal) {
  const startedAt: number[] = [];
  let hasStarted: () => void = () => undefined;
  const started = new Promise<void>((resolve) => {
    hasStarted = resolve;
  });
  const lookUp = new SharedLookUp(
    async () => {
      startedAt.push(realNowMs());
      hasStarted();
      await realDelayMs(5);
      return data(startedAt.length);
    },
    signal,
    GAP_MS,
  );
  return { lookUp, startedAt, started };
}

describe('a shared look-up', () => {
  it('is made anew for who asks after it started, no sooner than the gap allows', async () => {
    const { lookUp, startedAt, started } = countedLookUp();
    const first = lookUp.request();
    await started;
    expect(await Promise.all([first, lookUp.request(), lookUp.request()])).toEqual(
      [1, 2, 2].map(data),
    );
    expect(startedAt[1]! - startedAt[0]!).toBeGreaterThanOrEqual(GAP_MS - 2);
  });

  it('listens to the end of all look-ups only while it has to wait, and rejects then', async () => {
    const stopping = new AbortController();
    const listeners = (): number => getEventListeners(stopping.signal, 'abort').length;
    const { lookUp, started } = countedLookUp(stopping.signal);
    const first = lookUp.request();
    await started;
    expect(listeners()).toBe(0);
    await first;
    const waiting = lookUp.request();
    await realDelayMs(0);
    expect(listeners()).toBe(1);
    stopping.abort(new Error('stopping'));
    await expect(waiting).rejects.toThrow('stopping');
  });

  it('is made again after one that threw', async () => {
    let calls = 0;
    const lookUp = new SharedLookUp(
      () => Promise.reject(new Error(`failure ${(calls += 1)}`)),
      new AbortController().signal,
      0,
    );
    await expect(lookUp.request()).rejects.toThrow('failure 1');
    await expect(lookUp.request()).rejects.toThrow('failure 2');
  });
});

describe('RecentMisses', () => {
  let nowMs: number;
  let misses: RecentMisses;

  beforeEach(() => {
    nowMs = 1000;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    misses = new RecentMisses(2);
  });

  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('holds them for unknown from the latest look-up on, whatever that was made for', () => {
    misses.missed('M-1');
    nowMs += 1500;
    misses.found(new Set(['M-2']));
    nowMs += 1999;
    expect(misses.answerTo('M-1')).toBe('unknown');
    nowMs += 1;
    expect(misses.answerTo('M-1')).toBeUndefined();
  });

  it('remembers as many names as it may, the latest', () => {
    for (const name of ['M-1', 'M-2', 'M-1', 'M-3']) misses.missed(name);
    const answers = ['M-1', 'M-2', 'M-3'].map((name) => misses.answerTo(name));
    expect(answers).toEqual(['unknown', undefined, 'unknown']);
  });
});
