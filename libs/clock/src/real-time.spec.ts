import { withDeadline } from './real-time.js';

const AN_HOUR_MS = 3_600_000;

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
