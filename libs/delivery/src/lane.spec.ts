import fc from 'fast-check';
import { ANY_COMPANY, companyAfter, Lane } from './lane.js';

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

const had = fc.integer({ min: 1, max: 1000 });
const slowness = fc.double({ min: 4, max: 10_000, noNaN: true });

describe('companyAfter', () => {
  const afterSlow = (machines: number, times: number): number =>
    companyAfter(ANY_COMPANY, machines, { slowness: times });

  it('leaves each machine of a slow call alone where that is cheap: usual calls are quick', () => {
    // 3 s where 20 ms are usual, and where 100 ms are
    expect(afterSlow(100, 150)).toBe(1);
    expect(afterSlow(100, 30)).toBe(1);
  });

  it('parts the machines of a call into no more calls than its slowness is worth', () => {
    expect(afterSlow(100, 4)).toBe(12);
    expect(afterSlow(100, 10)).toBe(5);
    fc.assert(
      fc.property(had, slowness, (machines, times) => {
        const company = afterSlow(machines, times);
        // rounding to whole machines may double the calls
        expect(machines / company).toBeLessThanOrEqual(2 * 2 * times);
      }),
    );
  });

  it('finds a machine that is slow no later than one that fails', () => {
    fc.assert(
      fc.property(had, slowness, (machines, times) => {
        const afterFailure = companyAfter(ANY_COMPANY, machines, 'suspect');
        expect(afterSlow(machines, times)).toBeLessThanOrEqual(afterFailure);
        expect(afterSlow(machines, times)).toBeGreaterThanOrEqual(1);
      }),
    );
  });
});
