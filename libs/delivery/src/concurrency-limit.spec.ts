import fc from 'fast-check';
import { ConcurrencyLimit } from './concurrency-limit.js';

describe('ConcurrencyLimit', () => {
  it('runs every task, first come first served, with all places taken but never more', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.boolean(), { maxLength: 20 }),
        async (scheduler, places, tasksThatFail) => {
          const limit = new ConcurrencyLimit(places);
          const started: number[] = [];
          let running = 0;
          let most = 0;
          const results = tasksThatFail.map((fails, index) =>
            limit.run(async () => {
              started.push(index);
              running += 1;
              most = Math.max(most, running);
              await scheduler.schedule(Promise.resolve());
              running -= 1;
              if (fails) throw new Error(`task ${index} failed`);
              return index;
            }),
          );
          const settled = await scheduler.waitFor(Promise.allSettled(results));

          expect(most).toBe(Math.min(places, tasksThatFail.length));
          expect(started).toEqual(tasksThatFail.map((_, index) => index));
          expect(settled.map(({ status }) => status === 'rejected')).toEqual(tasksThatFail);
        },
      ),
    );
  });

  it('gives its places back: what comes after a rush may run at once', async () => {
    const limit = new ConcurrencyLimit(2);
    await Promise.allSettled([1, 2, 3].map(() => limit.run(() => Promise.reject(new Error('no')))));
    const started: string[] = [];
    const never = new Promise<never>(() => undefined);
    const occupy = (name: string) => () => {
      started.push(name);
      return never;
    };
    for (const name of ['first', 'second', 'third']) void limit.run(occupy(name));
    expect(started).toEqual(['first', 'second']);
  });
});
