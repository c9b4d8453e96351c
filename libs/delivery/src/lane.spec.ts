import fc from 'fast-check';
import { Lane } from './lane.js';

type Step =
  { do: 'add' | 'addFirst' | 'replaceAll' | 'removeFirst' } | { do: 'remove'; divisor: number };

const steps = fc.array(
  fc.oneof<fc.MaybeWeightedArbitrary<Step>[]>(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constantFrom('add', 'addFirst', 'replaceAll', 'removeFirst'),
      }),
    },
    fc.record({ do: fc.constant('remove'), divisor: fc.integer({ min: 1, max: 4 }) }),
  ),
);

/** What a lane does, done to a plain list of numbers. */
function change(list: readonly number[], step: Step, entry: number): number[] {
  switch (step.do) {
    case 'add':
      return [...list, entry];
    case 'addFirst':
      return [entry, ...list];
    case 'replaceAll':
      return [entry, entry + 1];
    case 'removeFirst':
      return list.slice(1);
    case 'remove':
      return list.filter((one) => one % step.divisor !== 0);
    default:
      return step satisfies never;
  }
}

describe('Lane', () => {
  it('keeps the order of what waits, whatever comes and goes', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const lane = new Lane<number>('M-1');
        let list: number[] = [];
        all.forEach((step, index) => {
          const entry = index + 1;
          const removed: number[] = [];
          if (step.do === 'remove') {
            lane.remove(
              (one) => one % step.divisor === 0,
              (one) => removed.push(one),
            );
            expect(removed).toEqual(list.filter((one) => one % step.divisor === 0));
          } else if (step.do === 'removeFirst') lane.removeFirst();
          else if (step.do === 'replaceAll') lane.replaceAll([entry, entry + 1]);
          else lane[step.do](entry);
          list = change(list, step, entry);
          expect([lane.size, lane.first, lane.last]).toEqual([list.length, list[0], list.at(-1)]);
        });
        const rest: number[] = [];
        lane.remove(
          () => true,
          (one) => rest.push(one),
        );
        expect(rest).toEqual(list);
      }),
    );
  });
});
