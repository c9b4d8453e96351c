import { getEventListeners } from 'node:events';
import { jest } from '@jest/globals';
import fc from 'fast-check';
import {
  abortable,
  Clock,
  ManualClock,
  onAbort,
  realDelayMs,
  realEpochMs,
  realNowMs,
  whenAllAbort,
  whenAnyAborts,
  withDeadline,
} from './index.js';

const AN_HOUR_MS = 3_600_000;

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

describe('withDeadline', () => {
  it.each([
    ['does not wait any longer once the work has come to its end', () => Promise.resolve('done')],
    ['swallows the failure of the work', () => Promise.reject(new Error('no'))],
    ['has nothing to wait for where there is no work', () => undefined],
  ])('%s', async (_, begin) => {
    await expect(withDeadline(begin(), AN_HOUR_MS)).resolves.toBe(true);
  });

  it('gives up on work that does not end', async () => {
    await expect(withDeadline(new Promise(() => undefined), 1)).resolves.toBe(false);
  });

  it('ignores a failure after the deadline', async () => {
    let fail: (error: Error) => void = () => undefined;
    const work = new Promise((_, reject) => {
      fail = reject;
    });
    await expect(withDeadline(work, 1)).resolves.toBe(false);
    fail(new Error('too late'));
    await expect(withDeadline(work, AN_HOUR_MS)).resolves.toBe(true);
  });
});

describe('abortable', () => {
  it('rejects when the signal aborts first', async () => {
    const ending = new AbortController();
    const wait = abortable(new Promise(() => undefined), ending.signal);
    ending.abort(new Error('no longer wanted'));
    await expect(wait).rejects.toThrow('no longer wanted');
  });

  it('leaves no listener of its own on a signal that outlives many waits', async () => {
    const { signal } = new AbortController();
    await abortable(Promise.resolve('done'), signal);
    await expect(abortable(Promise.reject(new Error('failed')), signal)).rejects.toThrow('failed');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('onAbort', () => {
  it('calls each task that was not cancelled once, whatever came and left before', () => {
    const steps = fc.array(fc.record({ task: fc.nat(9), isTakenBack: fc.boolean() }));
    fc.assert(
      fc.property(steps, (taken) => {
        const ending = new AbortController();
        const called: number[] = [];
        const takeBack = new Map<number, () => void>();
        for (const { task, isTakenBack } of taken) {
          takeBack.get(task)?.();
          takeBack.delete(task);
          if (!isTakenBack)
            takeBack.set(
              task,
              onAbort(ending.signal, () => called.push(task)),
            );
        }
        ending.abort();
        expect(called.sort()).toEqual([...takeBack.keys()].sort());
      }),
    );
  });

  it('does not call a task that another has cancelled meanwhile', () => {
    const ending = new AbortController();
    const called: string[] = [];
    const takeBacks: (() => void)[] = [];
    for (const name of ['one', 'other']) {
      const task = (): void => {
        called.push(name);
        for (const takeBack of takeBacks) takeBack();
      };
      takeBacks.push(onAbort(ending.signal, task));
    }
    ending.abort();
    expect(called).toEqual(['one']);
  });

  it('has one listener for all tasks, and none without tasks', () => {
    const ending = new AbortController();
    const signal = AbortSignal.any([ending.signal]);
    const listeners = (): number => getEventListeners(signal, 'abort').length;
    for (let round = 0; round < 2; round += 1) {
      const takeBacks = ['one', 'other'].map((name) => onAbort(signal, failing(name)));
      expect(listeners()).toBe(1);
      for (const takeBack of takeBacks) takeBack();
      expect(listeners()).toBe(0);
    }
  });

  it('does not listen to a signal that has aborted', () => {
    const signal = AbortSignal.abort();
    onAbort(signal, failing('too late'));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

function failing(why: string): () => void {
  return () => {
    throw new Error(why);
  };
}

describe('whenAnyAborts', () => {
  it.each([0, 1])('aborts with the first of them, for its reason: %i', (first) => {
    const ending = [new AbortController(), new AbortController()] as const;
    const { signal } = whenAnyAborts(ending[0].signal, ending[1].signal);
    expect(signal.aborted).toBe(false);
    ending[first]?.abort('first');
    ending[1 - first]?.abort('second');
    expect(signal.reason).toBe('first');
  });

  it('has aborted if one of them has', () => {
    const { signal } = whenAnyAborts(new AbortController().signal, AbortSignal.abort('before'));
    expect(signal.reason).toBe('before');
  });

  it('leaves no listener and does not abort once it is released', () => {
    const one = new AbortController();
    const { signal, release } = whenAnyAborts(one.signal);
    release();
    expect(getEventListeners(one.signal, 'abort')).toEqual([]);
    one.abort();
    expect(signal.aborted).toBe(false);
  });
});

describe('whenAllAbort', () => {
  it('aborts with the last of them, and not before', () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const { signal } = whenAllAbort(new Set([one.signal, other.signal]));
    one.abort();
    expect(signal.aborted).toBe(false);
    other.abort();
    expect(signal.aborted).toBe(true);
  });

  it('has aborted if all of them have', () => {
    expect(whenAllAbort(new Set([AbortSignal.abort()])).signal.aborted).toBe(true);
  });

  it('leaves no listener and does not abort once it is released', () => {
    const one = new AbortController();
    const { signal, release } = whenAllAbort(new Set([one.signal]));
    release();
    expect(getEventListeners(one.signal, 'abort')).toEqual([]);
    one.abort();
    expect(signal.aborted).toBe(false);
  });
});
