import { getEventListeners } from 'node:events';
import { jest } from '@jest/globals';
import { realDelayMs, realNowMs } from '#libs/clock';
import { type CloudAnswer, CloudError } from '#libs/cloud-client';
import { RecentMisses, SharedLookUp } from './look-ups.js';

const GAP_MS = 60;
const WAIT_MS = 100_000;

const data = (value: number): CloudAnswer<number> => ({ kind: 'data', data: value });

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
    const first = lookUp.ask();
    await started;
    expect(await Promise.all([first, lookUp.ask(), lookUp.ask()])).toEqual([1, 2, 2].map(data));
    expect(startedAt[1]! - startedAt[0]!).toBeGreaterThanOrEqual(GAP_MS - 2);
  });

  it('listens to the end of all look-ups only while it has to wait, and rejects then', async () => {
    const stopping = new AbortController();
    const listeners = (): number => getEventListeners(stopping.signal, 'abort').length;
    const { lookUp, started } = countedLookUp(stopping.signal);
    const first = lookUp.ask();
    await started;
    expect(listeners()).toBe(0);
    await first;
    const waiting = lookUp.ask();
    await realDelayMs(0);
    expect(listeners()).toBe(1);
    stopping.abort(new Error('stopping'));
    await expect(waiting).rejects.toThrow('stopping');
  });

  it('is not made before the service asks for it, and everybody hears at once how long that is', async () => {
    let [asked, start, finish] = [0, (): void => undefined, (): void => undefined];
    const started = new Promise<void>((resolve) => (start = resolve));
    const finished = new Promise<void>((resolve) => (finish = resolve));
    const error = new CloudError('http-status', 'getMachineInfo', 'HTTP 429', { status: 429 });
    const answer = async (): Promise<CloudAnswer<number>> => {
      asked += 1;
      start();
      await finished;
      return { kind: 'retry', afterMs: WAIT_MS, error };
    };
    const lookUp = new SharedLookUp(answer, new AbortController().signal, 0);
    const first = lookUp.ask();
    await started;
    const meanwhile = lookUp.ask();
    finish();
    expect(await first).toMatchObject({ kind: 'retry', afterMs: WAIT_MS });
    expect(await meanwhile).toMatchObject({ kind: 'retry' });
    await realDelayMs(20);
    const { afterMs } = (await lookUp.ask()) as { afterMs: number };
    expect(afterMs).toBeGreaterThan(0);
    expect(afterMs).toBeLessThan(WAIT_MS);
    expect([asked, lookUp.isBackingOff]).toEqual([1, true]);
  });

  it('is made again after one that threw', async () => {
    let calls = 0;
    const lookUp = new SharedLookUp(
      () => Promise.reject(new Error(`failure ${(calls += 1)}`)),
      new AbortController().signal,
      0,
    );
    await expect(lookUp.ask()).rejects.toThrow('failure 1');
    await expect(lookUp.ask()).rejects.toThrow('failure 2');
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

  it.each([
    ['left it to the service', 'unverifiable', 10_000],
    [
      'could not be made',
      { kind: 'unavailable', why: 'getMachineInfo: HTTP 503', afterMs: null },
      1000,
    ],
  ] as const)('can verify no name for a while after a look-up that %s', (_, failure, ms) => {
    misses.failed(failure);
    nowMs += ms - 1;
    expect(misses.answerTo('M-1')).toBe(failure);
    nowMs += 1;
    expect(misses.answerTo('M-1')).toBeUndefined();
  });
});
