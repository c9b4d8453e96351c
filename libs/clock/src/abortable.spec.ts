import { getEventListeners } from 'node:events';
import { abortable } from './abortable.js';

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
