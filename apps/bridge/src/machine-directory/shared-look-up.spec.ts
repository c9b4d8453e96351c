import { getEventListeners } from 'node:events';
import { realDelayMs, realNowMs } from '#libs/clock';
import { type CloudAnswer, CloudError } from '#libs/cloud-client';
import { SharedLookUp } from './shared-look-up.js';

const GAP_MS = 60;

type Answer = CloudAnswer<number>;

const data = (value: number): Answer => ({ kind: 'data', data: value });

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
  it('is made once for everybody who asks before it starts', async () => {
    const { lookUp } = countedLookUp();
    expect(await Promise.all([lookUp.ask(), lookUp.ask(), lookUp.ask()])).toEqual(
      [1, 1, 1].map(data),
    );
  });

  it('is made anew for who asks after it started, no sooner than the gap allows', async () => {
    const { lookUp, startedAt, started } = countedLookUp();
    const first = lookUp.ask();
    await started;
    expect(await Promise.all([first, lookUp.ask(), lookUp.ask()])).toEqual([1, 2, 2].map(data));
    expect(startedAt[1]! - startedAt[0]!).toBeGreaterThanOrEqual(GAP_MS - 2);
  });

  it('listens to the end of all look-ups only while it has to wait', async () => {
    const { signal } = new AbortController();
    const { lookUp, started } = countedLookUp(signal);
    const first = lookUp.ask();
    await started;
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    await first;
    const waiting = lookUp.ask();
    await realDelayMs(0);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await waiting;
  });

  it('rejects those who wait when it is stopped', async () => {
    const stopping = new AbortController();
    const { lookUp } = countedLookUp(stopping.signal);
    await lookUp.ask();
    const waiting = lookUp.ask();
    stopping.abort(new Error('stopping'));
    await expect(waiting).rejects.toThrow('stopping');
  });

  describe('that the service wants to be left alone with', () => {
    const WAIT_MS = 1000;
    let asked: number;
    let started: Promise<void>;
    let finish: () => void;
    let lookUp: SharedLookUp<number>;

    beforeEach(() => {
      asked = 0;
      let start: () => void;
      started = new Promise((resolve) => (start = resolve));
      const finished = new Promise<void>((resolve) => (finish = resolve));
      lookUp = new SharedLookUp<number>(
        async () => {
          if ((asked += 1) > 1) return data(asked);
          start();
          await finished;
          const error = new CloudError('http-status', 'getMachineInfo', 'HTTP 429', {
            status: 429,
          });
          return { kind: 'retry', afterMs: WAIT_MS, error };
        },
        new AbortController().signal,
        0,
      );
    });

    const afterMsOf = (answer: Answer) => (answer.kind === 'retry' ? (answer.afterMs ?? 0) : NaN);

    it('is not made before that, and everybody hears at once how long it is', async () => {
      const first = lookUp.ask();
      await started;
      const meanwhile = lookUp.ask();
      finish();
      expect(await first).toMatchObject({ kind: 'retry', afterMs: WAIT_MS });
      expect(await meanwhile).toMatchObject({ kind: 'retry' });
      await realDelayMs(20);
      const leftMs = afterMsOf(await lookUp.ask());
      expect(leftMs).toBeGreaterThan(0);
      expect(leftMs).toBeLessThan(WAIT_MS);
      expect({ asked, isBackingOff: lookUp.isBackingOff }).toEqual({
        asked: 1,
        isBackingOff: true,
      });
    });

    it('is made again when the time is over', async () => {
      const first = lookUp.ask();
      finish();
      await realDelayMs(afterMsOf(await first) + 1);
      expect(await lookUp.ask()).toEqual(data(2));
      expect(lookUp.isBackingOff).toBe(false);
    });
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
