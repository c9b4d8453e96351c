import fc from 'fast-check';
import { DueQueue } from './due-queue.js';

interface Item {
  dueMs: number;
  name: number;
}

const byTime = (one: Item, other: Item): number => one.dueMs - other.dueMs;

describe('DueQueue', () => {
  it('always returns an earliest item, each once, while others are added', () => {
    const steps = fc.array(fc.option(fc.nat(20)), { maxLength: 60 });
    fc.assert(
      fc.property(steps, (all) => {
        const queue = new DueQueue<Item>();
        const waiting: Item[] = [];
        for (const [name, dueMs] of all.entries()) {
          if (dueMs === null) {
            const taken = queue.takeEarliest();
            const earliest = [...waiting].sort(byTime)[0];
            expect(taken?.dueMs).toBe(earliest?.dueMs);
            if (taken === undefined) continue;
            expect(waiting.splice(waiting.indexOf(taken), 1)).toEqual([taken]);
          } else {
            const item = { dueMs, name };
            queue.addItem(dueMs, item);
            waiting.push(item);
          }
          expect(queue.size).toBe(waiting.length);
          expect(queue.earliestMs).toBe([...waiting].sort(byTime)[0]?.dueMs ?? Infinity);
        }
      }),
    );
  });
});
