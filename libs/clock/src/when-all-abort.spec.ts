import { getEventListeners } from 'node:events';
import { whenAllAbort } from './when-all-abort.js';

describe('whenAllAbort', () => {
  it('aborts with the last of them, and not before', () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const { signal } = whenAllAbort(new Set([one.signal, other.signal]));
    one.abort();
    expect(signal.aborted).toBe(false);
    other.abort();
    expect(signal.aborted).toBe(true);
  });

  it('has aborted where all of them have', () => {
    expect(whenAllAbort(new Set([AbortSignal.abort()])).signal.aborted).toBe(true);
  });

  it('leaves no listener behind when it is released, and does not abort any more', () => {
    const one = new AbortController();
    const { signal, release } = whenAllAbort(new Set([one.signal]));
    release();
    expect(getEventListeners(one.signal, 'abort')).toEqual([]);
    one.abort();
    expect(signal.aborted).toBe(false);
  });
});
