import fc from 'fast-check';
import {
  batchLimitAfter,
  type CallQuality,
  type LaneEntry,
  LaneQueue,
  NO_BATCH_LIMIT,
} from './lane-queue.js';

interface Entry extends LaneEntry {
  readonly payload: number;
}

const entry = (machineId: string, payload = 0): Entry => ({ machineId, payload });

const queueOf = (maxMachines: number): LaneQueue<Entry> =>
  new LaneQueue<Entry>({ maxMachines, maxBytes: Infinity });

const idsOf = (batch: readonly Entry[]): string[] => batch.map(({ machineId }) => machineId);

describe('LaneQueue', () => {
  let queue: LaneQueue<Entry>;

  beforeEach(() => {
    queue = queueOf(4);
  });

  const add = (...machineIds: string[]): void => {
    for (const machineId of machineIds) queue.enqueue(entry(machineId));
  };

  /** Sends the machine's entry alone, with the given result. */
  const sendAlone = (machineId: string, quality: CallQuality, notBeforeMs = 0): void => {
    add(machineId);
    expect(idsOf(queue.takeBatch(0))).toEqual([machineId]);
    queue.releaseMachine(machineId, quality, notBeforeMs);
  };

  /** Sends each alone, with a failure. Ten thousand assertions would take seconds. */
  const failAlone = (count: number): void => {
    const machineIds = Array.from({ length: count }, (_, number) => `wrong-${number}`);
    const batches = machineIds.map((machineId) => {
      add(machineId);
      const batch = idsOf(queue.takeBatch(0));
      queue.releaseMachine(machineId, 'failed', 0);
      return batch.join();
    });
    expect(batches).toEqual(machineIds);
  };

  /** Sixteen machines share a call, after which only this one is suspected. */
  const suspectInFullBatch = (machineId: string): void => {
    const others = Array.from({ length: 15 }, (_, number) => `other-${number}`);
    add(machineId, ...others);
    expect(idsOf(queue.takeBatch(0))).toHaveLength(16);
    queue.releaseMachine(machineId, 'suspect');
    for (const other of others) queue.releaseMachine(other, 'ok');
  };

  it('counts the entries that wait, and the machines that have one waiting or under way', () => {
    const counts = () => [queue.waitingEntries, queue.busyMachines, queue.readyMachines(0)];
    expect(counts()).toEqual([0, 0, 0]);
    for (const payload of [1, 2]) queue.enqueue(entry('a', payload));
    add('b');
    expect(counts()).toEqual([3, 2, 2]);
    const [a] = queue.takeBatch(0);
    expect(counts()).toEqual([1, 2, 0]);
    queue.putBack(a!, 'ok', 0);
    expect(queue.waitingOf('a').map(({ payload }) => payload)).toEqual([1, 2]);
    queue.replaceAll('a', [entry('a', 3)]);
    expect(counts()).toEqual([1, 2, 1]);
    queue.releaseMachine('b', 'ok');
    expect(counts()).toEqual([1, 1, 1]);
    add('c');
    expect(queue.removeWaiting(({ machineId }) => machineId === 'a')).toEqual([entry('a', 3)]);
    expect(counts()).toEqual([1, 1, 1]);
    queue.removeWaiting(() => true);
    expect(counts()).toEqual([0, 0, 0]);
  });

  it('returns when the next machine may send: at once, at its time, or never', () => {
    expect(queue.nextDueMs(0)).toBe(Infinity);
    add('a', 'b');
    expect(queue.nextDueMs(7)).toBe(7);
    for (const [index, sent] of queue.takeBatch(7).entries())
      queue.putBack(sent, 'suspect', 20 + 10 * index);
    expect(queue.nextDueMs(8)).toBe(20);
    expect(idsOf(queue.takeBatch(20))).toEqual(['a']);
    expect(queue.nextDueMs(21)).toBe(30);
    expect(queue.nextDueMs(30)).toBe(30);
  });

  describe('limits the batches of a machine', () => {
    beforeEach(() => {
      queue = queueOf(16);
    });

    it('to an eighth of the last one after each failure', () => {
      queue = queueOf(128);
      const others = Array.from({ length: 200 }, (_, number) => `good-${number}`);
      const sizes = [1, 2, 3, 4, 5].map(() => {
        add('bad', ...others);
        const batch = queue.takeBatch(0);
        expect(idsOf(batch)).toContain('bad');
        for (let rest = batch; rest.length > 0; rest = queue.takeBatch(0)) {
          for (const { machineId } of rest) {
            queue.releaseMachine(machineId, machineId === 'bad' ? 'suspect' : 'ok');
          }
        }
        return batch.length;
      });
      expect(sizes).toEqual([128, 16, 2, 1, 1]);
    });

    it('to an eighth of the batch it had, not of the limit', () => {
      add('bad', 'a', 'b');
      for (const machineId of idsOf(queue.takeBatch(0))) queue.releaseMachine(machineId, 'suspect');
      add('bad', 'a', 'c');
      expect(idsOf(queue.takeBatch(0))).toEqual(['bad']);
      expect(idsOf(queue.takeBatch(0))).toEqual(['a']);
    });

    it('in any position: a machine with a lower limit than the batch waits for the next one', () => {
      suspectInFullBatch('bad');
      add('a', 'b', 'bad', 'c', 'd');
      expect(idsOf(queue.takeBatch(0))).toEqual(['a', 'b', 'c', 'd']);
      add('e', 'f');
      expect(idsOf(queue.takeBatch(0))).toEqual(['bad', 'e']);
    });

    it('and lets no machine join it beyond that limit', () => {
      suspectInFullBatch('bad');
      add('a', 'bad', 'c');
      expect(idsOf(queue.takeBatch(0))).toEqual(['a', 'bad']);
      expect(idsOf(queue.takeBatch(0))).toEqual(['c']);
    });

    it('to itself after a failure alone, until a call of its own goes well', () => {
      sendAlone('a', 'failed');
      add('a', 'b', 'c');
      expect(idsOf(queue.takeBatch(0))).toEqual(['a']);
      queue.releaseMachine('a', 'suspect');
      add('a');
      expect(idsOf(queue.takeBatch(0))).toEqual(['b', 'c']);
      expect(idsOf(queue.takeBatch(0))).toEqual(['a']);
      queue.releaseMachine('a', 'ok');
      add('a', 'd');
      expect(idsOf(queue.takeBatch(0))).toEqual(['a', 'd']);
    });

    it('as before after an inconclusive call', () => {
      sendAlone('good', 'unknown');
      suspectInFullBatch('bad');
      sendAlone('bad', 'unknown');
      add('good', 'bad', 'c', 'd');
      expect(idsOf(queue.takeBatch(0))).toEqual(['good', 'bad']);
    });

    it('until limits are lifted, whether it waits, is under way or idle', () => {
      for (const machineId of ['waits', 'under way', 'idle']) sendAlone(machineId, 'failed');
      add('under way');
      queue.takeBatch(0);
      add('waits');
      queue.liftBatchLimits();
      queue.releaseMachine('under way', 'unknown');
      add('under way', 'idle', 'another');
      expect(idsOf(queue.takeBatch(0))).toEqual(['waits', 'under way', 'idle', 'another']);
    });

    it('to an eighth of the failing machines when limits are lifted while it fails', () => {
      queue = queueOf(200);
      const failing = Array.from({ length: 16 }, (_, number) => `m${number}`);
      add(...failing);
      add(...Array.from({ length: 100 }, (_, number) => `gone${number}`));
      for (const each of queue.takeBatch(0)) queue.putBack(each, 'failed', 10);
      queue.removeWaiting(({ machineId }) => machineId.startsWith('gone'));
      queue.liftBatchLimits();
      add('other', 'another');
      expect(idsOf(queue.takeBatch(10))).toEqual(['other', 'another']);
      const pair = idsOf(queue.takeBatch(10));
      expect(pair).toHaveLength(2);
      expect(idsOf(queue.takeBatch(10))).toHaveLength(2);
      for (const machineId of pair) queue.releaseMachine(machineId, 'ok');
      while (queue.readyMachines(10) > 0) queue.takeBatch(10);
      add(...pair, 'new');
      expect(idsOf(queue.takeBatch(10))).toEqual([...pair, 'new']);
    });

    it('while it is among the ten thousand idle machines suspected last', () => {
      failAlone(10_001);
      add('wrong-0', 'x');
      expect(idsOf(queue.takeBatch(0))).toEqual(['wrong-0', 'x']);
      add('wrong-1', 'y');
      expect(idsOf(queue.takeBatch(0))).toEqual(['wrong-1']);
      expect(queue.busyMachines).toBe(4);
    });

    it('longest for the machine suspected last', () => {
      sendAlone('again', 'failed');
      failAlone(9999);
      sendAlone('again', 'failed');
      sendAlone('one-more', 'failed');
      add('again', 'x');
      expect(idsOf(queue.takeBatch(0))).toEqual(['again']);
      add('wrong-0', 'y');
      expect(idsOf(queue.takeBatch(0))).toEqual(['x', 'wrong-0', 'y']);
    });
  });

  describe('with probes', () => {
    const fail = (machineId: string): void => {
      queue.enqueue(entry(machineId));
      const [failed] = queue.takeBatch(0);
      queue.putBack(failed!, 'suspect', 10);
    };

    it('sends the machines whose last call did not fail, together', () => {
      for (const machineId of ['a', 'b']) fail(machineId);
      add('c', 'd');
      expect(idsOf(queue.takeProbe(10))).toEqual(['c', 'd']);
    });

    it('sends the others if there are no such machines', () => {
      for (const machineId of ['a', 'b']) fail(machineId);
      expect(idsOf(queue.takeProbe(10))).toEqual(['a']);
      queue.releaseMachine('a', 'ok');
      add('a');
      expect(idsOf(queue.takeProbe(10))).toEqual(['a']);
    });

    it('treats machines that could not be called as failed', () => {
      add('a', 'b');
      const [a] = queue.takeBatch(0, 2);
      queue.putBack(a!, 'unknown', 10);
      expect(idsOf(queue.takeProbe(10))).toEqual(['b']);
    });

    it('remembers failed machines when limits are lifted', () => {
      fail('a');
      queue.liftBatchLimits();
      add('b');
      expect(idsOf(queue.takeProbe(10))).toEqual(['b']);
    });
  });

  describe('with waiting entries replaced or removed', () => {
    it('keeps the turn of a replaced entry', () => {
      add('a', 'b');
      queue.replaceAll('a', [entry('a', 2)]);
      expect(queue.takeBatch(0)).toEqual([entry('a', 2), entry('b')]);
    });

    it('sends no entry twice or early because of the time of a removed one', () => {
      queue.enqueue(entry('a', 1));
      queue.putBack(queue.takeBatch(0)[0]!, 'suspect', 500);
      queue.removeWaiting(() => true);
      for (const payload of [2, 3]) queue.enqueue(entry('a', payload));
      const [second] = queue.takeBatch(100);
      expect(queue.takeBatch(500)).toEqual([]);
      queue.putBack(second!, 'ok', 900);
      expect(queue.takeBatch(899)).toEqual([]);
      expect(queue.takeBatch(900)).toEqual([entry('a', 2)]);
    });

    it('sends no entry early because of an outdated time', () => {
      queue.enqueue(entry('a', 1));
      queue.putBack(queue.takeBatch(0)[0]!, 'suspect', 500);
      queue.removeWaiting(() => true);
      queue.enqueue(entry('a', 2));
      queue.putBack(queue.takeBatch(100)[0]!, 'ok', 900);
      expect(queue.takeBatch(500)).toEqual([]);
      expect(queue.takeBatch(900)).toEqual([entry('a', 2)]);
    });

    it('remembers the limit of a machine whose entries were removed', () => {
      sendAlone('bad', 'failed');
      add('bad');
      expect(queue.removeWaiting(() => true)).toHaveLength(1);
      add('bad', 'x');
      expect(idsOf(queue.takeBatch(0))).toEqual(['bad']);
    });
  });
});

const had = fc.integer({ min: 1, max: 1000 });
const slowness = fc.double({ min: 4, max: 10_000, noNaN: true });

describe('batchLimitAfter', () => {
  const afterSlow = (machines: number, times: number): number =>
    batchLimitAfter(NO_BATCH_LIMIT, machines, { slowness: times });

  it('splits the machines of a call into no more calls than its slowness justifies', () => {
    expect(afterSlow(100, 4)).toBe(12);
    expect(afterSlow(100, 10)).toBe(5);
    fc.assert(
      fc.property(had, slowness, (machines, times) => {
        const limit = afterSlow(machines, times);
        // Rounding to whole machines may double the calls.
        expect(machines / limit).toBeLessThanOrEqual(2 * 2 * times);
      }),
    );
  });

  it('isolates a slow machine no later than a failing one', () => {
    fc.assert(
      fc.property(had, slowness, (machines, times) => {
        const afterFailure = batchLimitAfter(NO_BATCH_LIMIT, machines, 'suspect');
        expect(afterSlow(machines, times)).toBeLessThanOrEqual(afterFailure);
        expect(afterSlow(machines, times)).toBeGreaterThanOrEqual(1);
      }),
    );
  });
});
