import { allEnded } from './with-admin.js';

describe('allEnded', () => {
  it('yields what all yield', async () => {
    expect(await allEnded([Promise.resolve(1), 'two'])).toEqual([1, 'two']);
  });

  it('rejects like the first that fails, once the others have ended', async () => {
    const order: string[] = [];
    let end: (() => void) | undefined;
    const slow = new Promise<void>((resolve) => (end = resolve)).then(() => order.push('ended'));
    const asked = allEnded([slow, Promise.reject(new Error('refused'))]);
    const failed = asked.catch((error: unknown) => order.push(String(error)));
    // once all that is due has run, of which the rejection would be
    await new Promise((resolve) => setImmediate(resolve));
    end?.();
    await failed;
    expect(order).toEqual(['ended', 'Error: refused']);
  });
});
