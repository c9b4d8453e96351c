import fc from 'fast-check';
import { CallSlots, Semaphore } from './call-slots.js';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Requests slots under names, and records which were given. */
function askers(slots: CallSlots): { given: string[]; ask: (...names: string[]) => void } {
  const given: string[] = [];
  return {
    given,
    ask: (...names) => {
      for (const name of names) slots.acquire(() => given.push(name));
    },
  };
}

describe('CallSlots', () => {
  it('gives a free slot at once, unless others wait for one', () => {
    const slots = new CallSlots(2);
    const { given, ask } = askers(slots);
    slots.pauseCalls();
    expect(slots.tryAcquire()).toBe(false);
    slots.resumeCalls();
    expect([slots.tryAcquire(), slots.tryAcquire(), slots.tryAcquire()]).toEqual([
      true,
      true,
      false,
    ]);
    ask('a');
    slots.release();
    expect([given, slots.tryAcquire()]).toEqual([['a'], false]);
    slots.release();
    slots.release();
    expect(slots.underWay).toBe(0);
  });

  it('allows a slot to be released while it is being given out', () => {
    const slots = new CallSlots(1);
    const given: string[] = [];
    for (const name of ['a', 'b', 'c']) {
      slots.acquire(() => {
        given.push(name);
        slots.release();
      });
    }
    expect(given).toEqual(['a', 'b', 'c']);
    expect(slots.underWay).toBe(0);
  });

  it('runs all tasks in order, with all slots used and never more', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.boolean(), { maxLength: 20 }),
        async (scheduler, limit, tasksThatFail) => {
          const slots = new CallSlots(limit);
          const started: number[] = [];
          let most = 0;
          const results = tasksThatFail.map((fails, index) =>
            slots.runTask(async () => {
              started.push(index);
              most = Math.max(most, slots.underWay);
              await scheduler.schedule(Promise.resolve());
              if (fails) throw new Error(`task ${index} failed`);
              return index;
            }),
          );
          const settled = await scheduler.waitFor(Promise.allSettled(results));

          expect(most).toBe(Math.min(limit, tasksThatFail.length));
          expect(started).toEqual(tasksThatFail.map((_, index) => index));
          expect(settled).toEqual(
            tasksThatFail.map((fails, index) =>
              fails
                ? { status: 'rejected', reason: new Error(`task ${index} failed`) }
                : { status: 'fulfilled', value: index },
            ),
          );
          expect(slots.underWay).toBe(0);
        },
      ),
    );
  });

  it('gives out no slot while paused, and all requested ones when resumed', () => {
    const slots = new CallSlots(2);
    const { given, ask } = askers(slots);
    ask('a');
    slots.pauseCalls();
    ask('b', 'c');
    slots.release();
    slots.recheckCondition();
    expect(given).toEqual(['a']);
    slots.resumeCalls();
    expect(given).toEqual(['a', 'b', 'c']);
  });

  it('gives out no slot while the condition is false, and continues when woken after it has changed', () => {
    const slots = new CallSlots(2);
    const { given, ask } = askers(slots);
    let mayBegin = true;
    slots.allowWhile(() => mayBegin);
    ask('a');
    mayBegin = false;
    ask('b');
    slots.release();
    expect(given).toEqual(['a']);
    mayBegin = true;
    slots.recheckCondition();
    expect(given).toEqual(['a', 'b']);
  });

  it('checks the condition before each call, even of calls that are served together', () => {
    const slots = new CallSlots(5);
    const { given, ask } = askers(slots);
    slots.pauseCalls();
    ask('a', 'b', 'c');
    slots.allowWhile(() => given.length < 2);
    slots.resumeCalls();
    expect(given).toEqual(['a', 'b']);
  });

  it('resolves when no call is under way any more, although others wait', async () => {
    const slots = new CallSlots(2);
    const { given, ask } = askers(slots);
    await slots.whenNoCalls();
    ask('a', 'b', 'c');
    slots.pauseCalls();
    const log: string[] = [];
    const idle = slots.whenNoCalls().then(() => log.push('idle'));
    slots.release();
    await nextTurn();
    log.push('one is left');
    slots.release();
    await idle;
    expect(log).toEqual(['one is left', 'idle']);
    expect(given).toEqual(['a', 'b']);
  });

  it('resolves for all that wait for it', async () => {
    const slots = new CallSlots(1);
    askers(slots).ask('a');
    const waiting = [slots.whenNoCalls(), slots.whenNoCalls()];
    slots.release();
    await Promise.all(waiting);
  });

  it('objects to a call that has its slot, while no call may begin', () => {
    const slots = new CallSlots(1);
    const { objection } = slots.permit;
    expect(objection()).toBeUndefined();
    slots.pauseCalls();
    expect(objection()).toBeInstanceOf(Error);
    slots.resumeCalls();
    expect(objection()).toBeUndefined();
    slots.allowWhile(() => false);
    expect(objection()).toBeInstanceOf(Error);
  });

  it('cuts off the calls that have begun, and no later ones', () => {
    const slots = new CallSlots(2);
    const before = slots.permit.signal;
    expect(before.aborted).toBe(false);
    slots.cutOffCalls(new Error('the partition may go'));
    expect(before.reason).toEqual(new Error('the partition may go'));
    expect(slots.permit.signal.aborted).toBe(false);
    slots.cutOffCalls(new Error('again'));
    expect(before.reason).toEqual(new Error('the partition may go'));
  });

  describe('under a rate limit', () => {
    let come: (() => void)[];
    let returned: number;
    let slots: CallSlots;

    /** Gives the oldest requested turn. */
    const turnComes = async (): Promise<void> => {
      come.shift()?.();
      await nextTurn();
    };

    beforeEach(() => {
      come = [];
      returned = 0;
      slots = new CallSlots(2, {
        awaitTurn: () => new Promise((resolve) => come.push(resolve)),
        returnTurn: () => {
          returned += 1;
        },
      });
    });

    it('gives out a slot with each turn, and requests one turn at a time', async () => {
      const { given, ask } = askers(slots);
      expect(slots.tryAcquire()).toBe(false);
      ask('a', 'b', 'c');
      expect([given, come.length, slots.underWay]).toEqual([[], 1, 0]);
      await turnComes();
      expect([given, come.length]).toEqual([['a'], 1]);
      await turnComes();
      expect([given, come.length]).toEqual([['a', 'b'], 0]);
      slots.release();
      await turnComes();
      expect(given).toEqual(['a', 'b', 'c']);
      expect(returned).toBe(0);
    });

    it('does not wait for calls without a turn, and returns a turn that comes while paused', async () => {
      const { given, ask } = askers(slots);
      ask('a');
      slots.pauseCalls();
      await slots.whenNoCalls();
      await turnComes();
      expect([given, returned, come.length]).toEqual([[], 1, 0]);
      slots.resumeCalls();
      await turnComes();
      expect(given).toEqual(['a']);
    });

    it('returns the turn of a slot in which no call was made', async () => {
      const { given, ask } = askers(slots);
      ask('a', 'b');
      await turnComes();
      slots.releaseUnused();
      expect([given, returned, slots.underWay]).toEqual([['a'], 1, 0]);
    });
  });
});

describe('Semaphore', () => {
  it('gives several slots in the order of requests, and all of them to a larger request', () => {
    const semaphore = new Semaphore(10);
    const given: number[] = [];
    const slotsWanted = [6, 5, 1, 25, 1];
    for (const slots of slotsWanted) semaphore.acquire(() => given.push(slots), slots);
    const seen = [given.slice()];
    for (const slots of [6, 5, 1, 25]) {
      semaphore.release(slots);
      seen.push(given.slice());
    }
    expect(seen).toEqual([[6], [6, 5, 1], [6, 5, 1], [6, 5, 1, 25], slotsWanted]);
  });
});
