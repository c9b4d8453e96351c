import { setTimeout as delay } from 'node:timers/promises';
import { allEnded } from './with-admin.js';

describe('allEnded', () => {
  it('yields what all yield', async () => {
    expect(await allEnded([Promise.resolve(1), 'two'])).toEqual([1, 'two']);
  });

  it('rejects like the first that fails, once the others have ended', async () => {
    let ended = false;
    const slow = delay(20).then(() => (ended = true));
    const asked = allEnded([slow, Promise.reject(new Error('refused'))]);
    await expect(asked).rejects.toThrow('refused');
    expect(ended).toBe(true);
  });
});
