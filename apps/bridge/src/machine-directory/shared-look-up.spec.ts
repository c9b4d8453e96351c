import { realDelayMs, realNowMs } from '#libs/clock';
import { SharedLookUp } from './shared-look-up.js';

const GAP_MS = 60;

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
      return startedAt.length;
    },
    signal,
    GAP_MS,
  );
  return { lookUp, startedAt, started };
}

describe('a shared look-up', () => {
  it('is made once for everybody who asks before it starts', async () => {
    const { lookUp } = countedLookUp();
    expect(await Promise.all([lookUp.ask(), lookUp.ask(), lookUp.ask()])).toEqual([1, 1, 1]);
  });

  it('is made anew for who asks after it started, no sooner than the gap allows', async () => {
    const { lookUp, startedAt, started } = countedLookUp();
    const first = lookUp.ask();
    await started;
    expect(await Promise.all([first, lookUp.ask(), lookUp.ask()])).toEqual([1, 2, 2]);
    expect(startedAt[1]! - startedAt[0]!).toBeGreaterThanOrEqual(GAP_MS - 2);
  });

  it('rejects those who wait when it is stopped', async () => {
    const stopping = new AbortController();
    const { lookUp } = countedLookUp(stopping.signal);
    await lookUp.ask();
    const waiting = lookUp.ask();
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
    await expect(lookUp.ask()).rejects.toThrow('failure 1');
    await expect(lookUp.ask()).rejects.toThrow('failure 2');
  });
});
