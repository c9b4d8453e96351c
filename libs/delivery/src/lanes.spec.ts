import fc from 'fast-check';
import { Lanes } from './lanes.js';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const tasks = fc.array(
  fc.record({ key: fc.constantFrom('M-1', 'M-2', 'M-3'), fails: fc.boolean() }),
  {
    maxLength: 20,
  },
);

describe('Lanes', () => {
  it('keeps the order of each key, one at a time, whatever fails and in whatever order tasks end', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), tasks, async (scheduler, all) => {
        const lanes = new Lanes();
        const log: string[] = [];
        const results = all.map(({ key, fails }, index) =>
          lanes.run(key, async () => {
            log.push(`${key} starts ${index}`);
            await scheduler.schedule(Promise.resolve());
            log.push(`${key} ends ${index}`);
            if (fails) throw new Error(`task ${index} failed`);
            return index;
          }),
        );
        const settled = await scheduler.waitFor(Promise.allSettled(results));

        for (const key of new Set(all.map((task) => task.key))) {
          const inOrder = all.flatMap((task, index) =>
            task.key === key ? [`${key} starts ${index}`, `${key} ends ${index}`] : [],
          );
          expect(log.filter((line) => line.startsWith(key))).toEqual(inOrder);
        }
        expect(settled).toEqual(
          all.map(({ fails }, index) =>
            fails
              ? { status: 'rejected', reason: new Error(`task ${index} failed`) }
              : { status: 'fulfilled', value: index },
          ),
        );
        await nextTurn();
        expect(lanes.size).toBe(0);
      }),
    );
  });

  it('lets the other keys go on while one stands still', async () => {
    const lanes = new Lanes();
    const started: string[] = [];
    void lanes.run('M-1', () => new Promise(() => started.push('M-1')));
    void lanes.run('M-1', () => Promise.resolve(started.push('M-1 again')));
    await lanes.run('M-2', () => Promise.resolve(started.push('M-2')));
    await lanes.run('M-2', () => Promise.resolve(started.push('M-2 again')));
    expect(started).toEqual(['M-1', 'M-2', 'M-2 again']);
    await nextTurn();
    expect(lanes.size).toBe(1);
  });

  it('lets nobody overtake the task that waits, once the one before it has ended', async () => {
    const lanes = new Lanes();
    const log: string[] = [];
    let end: () => void = () => undefined;
    const second = new Promise<void>((resolve) => {
      end = resolve;
    });
    const first = lanes.run('M-1', () => Promise.resolve());
    void lanes.run('M-1', () => second.then(() => log.push('second')));
    await first;
    await nextTurn();
    const third = lanes.run('M-1', () => Promise.resolve(log.push('third')));
    await nextTurn();
    end();
    await third;
    expect(log).toEqual(['second', 'third']);
  });

  it('passes on what a task throws before it returns a promise, and goes on', async () => {
    const lanes = new Lanes();
    const thrown = lanes.run('M-1', () => {
      throw new Error('at once');
    });
    const behind = lanes.run('M-1', () => Promise.resolve('behind it'));
    await expect(thrown).rejects.toThrow('at once');
    await expect(behind).resolves.toBe('behind it');
  });
});
