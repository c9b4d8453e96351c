import { jest } from '@jest/globals';
import fc from 'fast-check';
import { realNowMs } from '#libs/clock';
import {
  Command,
  type CommandResult,
  CommandWaiter,
  MessageAnswers,
  type Precedence,
} from './command.js';
import {
  batchLimitAfter,
  type CallQuality,
  CommandLanes,
  type LaneEntry,
  LaneQueue,
  NO_BATCH_LIMIT,
  OpenCommands,
} from './machine-lanes.js';
import { inboundMessage } from './testing/inbound-message.js';

const NOW_MS = 1_000_000;
const applied = { kind: 'applied', appliedAt: 100 } as const;
const lost = new Error('the partition is lost');

describe('CommandLanes', () => {
  let open: OpenCommands;
  let lanes: CommandLanes<string>;
  let results: CommandResult[];
  let ends: string[];
  let ownership: AbortController;

  beforeEach(() => {
    open = new OpenCommands(60_000, () => undefined);
    lanes = lanesWith(undefined);
    [results, ends] = [[], []];
    ownership = new AbortController();
  });

  const lanesWith = (precedence: Precedence | undefined): CommandLanes<string> => {
    const limits = { maxMachines: 8, maxBytes: Infinity };
    return new CommandLanes(limits, open, precedence && (() => precedence));
  };

  const waiterOf = (name: string, owner = ownership): CommandWaiter => {
    const message = inboundMessage({
      revoked: owner.signal,
      abandon: () => ends.push(`${name} abandoned`),
      fail: () => ends.push(`${name} failed`),
    });
    const answers = new MessageAnswers({ message, messageId: null }, 1, [], (_, all) => {
      results.push(...all);
      for (const { kind } of all) ends.push(`${name} ${kind}`);
      return [];
    });
    return new CommandWaiter('mill', answers, NOW_MS);
  };

  const commandOf = (name: string, ...waiters: CommandWaiter[]): Command<string> =>
    new Command('mill', name, waiters.length > 0 ? waiters : [waiterOf(name)]);

  const submit = (name: string, ...waiters: CommandWaiter[]): Command<string> => {
    const command = commandOf(name, ...waiters);
    lanes.enqueueCommand(command);
    return command;
  };

  /** Takes the machine's next command out of its lane, as a call does. */
  const take = (nowMs = NOW_MS): Command<string> | undefined => lanes.queue.takeBatch(nowMs)[0];

  it.each<CallQuality>(['ok', 'suspect', 'failed', 'unknown'])(
    'lets a machine go for which nobody waits any more, though it was %s',
    (quality) => {
      submit('first');
      const first = take()!;
      ownership.abort(lost);
      lanes.postpone(first, quality, NOW_MS + 500);
      expect(ends).toEqual(['first abandoned']);
      expect(lanes.queue.busyMachines).toBe(0);
      expect(open.size).toBe(0);
    },
  );

  describe('where one command stands for all that wait', () => {
    it.each<[Precedence, string, string[], string[]]>([
      ['newer', 'second', ['first superseded'], ['second applied']],
      ['older', 'first', ['second superseded'], ['first applied']],
      ['both', 'second', [], ['first applied', 'second applied']],
    ])('keeps one of two: %s', (precedence, kept, atOnce, inTheEnd) => {
      lanes = lanesWith(precedence);
      submit('first').attempts = 3;
      submit('second');
      expect(ends).toEqual(atOnce);
      const command = take()!;
      expect(command.payload).toBe(kept);
      // the service has been failing for as long as the older one tried
      expect(command.attempts).toBe(3);
      expect(lanes.queue.waiting).toBe(0);
      lanes.endCommand(command, 'ok', applied);
      expect(ends).toEqual([...atOnce, ...inTheEnd]);
    });

    it.each<[Precedence, string, string[]]>([
      ['newer', 'second', ['first superseded']],
      ['older', 'first', ['second superseded']],
      ['both', 'second', []],
    ])(
      'does so after a failed call, too: %s, no sooner than that lets it',
      (precedence, kept, ended) => {
        lanes = lanesWith(precedence);
        submit('first');
        const first = take()!;
        submit('second');
        expect(ends).toEqual([]);
        lanes.postpone(first, 'suspect', NOW_MS + 500);
        expect(ends).toEqual(ended);
        expect(take(NOW_MS + 499)).toBeUndefined();
        expect(take(NOW_MS + 500)?.payload).toBe(kept);
      },
    );

    describe('or two, where neither is sure to be the newer', () => {
      /** `timed` ones may be outdated beside one that is not; of two alike the newer counts. */
      beforeEach(() => {
        const limits = { maxMachines: 8, maxBytes: Infinity };
        lanes = new CommandLanes<string>(limits, open, (older, newer) =>
          !older.startsWith('timed') && newer.startsWith('timed') ? 'apart' : 'newer',
        );
      });

      it('sends one after the other', () => {
        submit('first');
        submit('timed second');
        expect(ends).toEqual([]);
        lanes.endCommand(take()!, 'ok', applied);
        lanes.endCommand(take()!, 'ok', applied);
        expect(ends).toEqual(['first applied', 'timed second applied']);
      });

      it('keeps no more than two', () => {
        for (const name of ['first', 'timed second', 'timed third']) submit(name);
        expect(ends).toEqual(['timed second superseded']);
        expect(lanes.queue.waiting).toBe(2);
        submit('fourth');
        expect(ends.slice(1)).toEqual(['timed third superseded', 'first superseded']);
        expect(take()?.payload).toBe('fourth');
      });

      it('puts one that failed before one that is not sure to be newer', () => {
        submit('first');
        const first = take()!;
        submit('timed second');
        lanes.postpone(first, 'suspect', NOW_MS + 500);
        expect(ends).toEqual([]);
        expect(take(NOW_MS + 499)).toBeUndefined();
        expect(take(NOW_MS + 500)?.payload).toBe('first');
        expect(lanes.queue.waiting).toBe(1);
      });

      it('lets those behind it stand for one that failed', () => {
        submit('timed first');
        const first = take()!;
        submit('second');
        submit('timed third');
        lanes.postpone(first, 'suspect', NOW_MS + 500);
        expect(ends).toEqual(['timed first superseded']);
        expect(take(NOW_MS + 500)?.payload).toBe('second');
        expect(lanes.queue.waiting).toBe(1);
      });
    });

    it('says after how many calls a command was superseded', () => {
      lanes = lanesWith('newer');
      const waiter = waiterOf('first');
      waiter.calls = 2;
      submit('first', waiter);
      submit('second');
      expect(results).toMatchObject([{ kind: 'superseded', machineId: 'mill', attempts: 2 }]);
    });

    it('supersedes nothing for a command that nobody waits for any more', () => {
      lanes = lanesWith('older');
      const elsewhere = new AbortController();
      submit('first', waiterOf('first', elsewhere));
      const first = take()!;
      submit('second');
      elsewhere.abort(lost);
      lanes.postpone(first, 'suspect', 0);
      expect(ends).toEqual(['first abandoned']);
      expect(take()?.payload).toBe('second');
    });
  });
});

const DEFERRED_AFTER_MS = 60_000;
/** Nobody has to know to the millisecond who waits too long. */
const SWEEP_MS = 250;

describe('OpenCommands', () => {
  let deferred: string[];
  let open: OpenCommands;
  let ends: unknown[];
  let results: CommandResult[];

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['Date', 'nextTick', 'queueMicrotask', 'setImmediate'] });
    [deferred, ends, results] = [[], [], []];
    open = new OpenCommands(DEFERRED_AFTER_MS, ({ machineId }) => deferred.push(machineId));
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

  const wait = (machineId: string): CommandWaiter => {
    const message = inboundMessage({
      finish: () => ends.push('finished'),
      abandon: () => ends.push('abandoned'),
      fail: (error: unknown) => ends.push(error),
    });
    const answers = new MessageAnswers({ message, messageId: null }, 1, [], (_, all) => {
      results.push(...all);
      return [];
    });
    const waiter = new CommandWaiter(machineId, answers, realNowMs());
    open.add(waiter);
    return waiter;
  };

  it('says once of each that has waited long, and not before', async () => {
    wait('M-1');
    await pass(1000);
    wait('M-2');
    await pass(DEFERRED_AFTER_MS - 1001);
    expect(deferred).toEqual([]);
    await pass(SWEEP_MS + 1);
    expect(deferred).toEqual(['M-1']);
    await pass(1000);
    expect(deferred).toEqual(['M-1', 'M-2']);
    await pass(10 * DEFERRED_AFTER_MS);
    expect(deferred).toEqual(['M-1', 'M-2']);
  });

  it('counts from when the time of what is delayed has come, and so for all behind it', async () => {
    const delayed = wait('M-1');
    wait('M-2');
    open.delay('M-1', realNowMs() + 30_000);
    await pass(10_000);
    wait('M-1');
    await pass(DEFERRED_AFTER_MS + SWEEP_MS - 10_000);
    expect(deferred).toEqual(['M-2']);
    expect(open.oldestAgeMs(realNowMs())).toBe(realNowMs() - delayed.sinceMs);
    await pass(30_000 - SWEEP_MS - 1);
    expect(deferred).toEqual(['M-2']);
    wait('M-1');
    await pass(SWEEP_MS + 1);
    expect(deferred).toEqual(['M-2', 'M-1', 'M-1']);
    await pass(DEFERRED_AFTER_MS);
    expect(deferred).toEqual(['M-2', 'M-1', 'M-1', 'M-1']);
  });

  it('says nothing of what is settled after it was delayed', async () => {
    const waiter = wait('M-1');
    open.delay('M-1', realNowMs() + 30_000);
    await pass(DEFERRED_AFTER_MS + SWEEP_MS);
    open.settleWaiter(waiter, applied);
    await pass(DEFERRED_AFTER_MS);
    expect(deferred).toEqual([]);
    expect(open.size).toBe(0);
  });

  it.each([
    [
      'settled',
      (waiter: CommandWaiter) => {
        open.settleWaiter(waiter, applied);
      },
    ],
    [
      'let go of',
      (waiter: CommandWaiter) => {
        open.abandon(waiter);
      },
    ],
    [
      'handled anew',
      (waiter: CommandWaiter) => {
        open.fail(waiter, new Error('a bug'));
      },
    ],
  ])('says nothing of what is %s in time', async (_, end) => {
    const waiter = wait('M-1');
    await pass(DEFERRED_AFTER_MS - 1);
    end(waiter);
    await pass(DEFERRED_AFTER_MS);
    expect(deferred).toEqual([]);
  });

  it('ends each once: what comes first counts', async () => {
    const bug = new Error('a bug');
    const waiters = ['M-1', 'M-2', 'M-3'].map(wait);
    const [settled, abandoned, failed] = waiters;
    open.settleWaiter(settled!, applied);
    open.abandon(abandoned!);
    open.fail(failed!, bug);
    await pass(0);
    expect(ends).toEqual(['finished', 'abandoned', bug]);
    for (const waiter of waiters) {
      open.settleWaiter(waiter, applied);
      open.abandon(waiter);
      open.fail(waiter, bug);
    }
    await pass(0);
    expect(ends).toHaveLength(3);
    expect(results).toHaveLength(1);
  });

  it('rests while nobody waits', async () => {
    open.settleWaiter(wait('M-1'), applied);
    await pass(SWEEP_MS);
    expect(jest.getTimerCount()).toBe(0);
    wait('M-2');
    await pass(2 * DEFERRED_AFTER_MS);
    expect(deferred).toEqual(['M-2']);
  });
});

interface Entry extends LaneEntry {
  readonly payload: number;
}

const entry = (machineId: string, payload = 0, bytes = 1): Entry => ({ machineId, payload, bytes });

const idsOf = (batch: readonly Entry[]): string[] => batch.map(({ machineId }) => machineId);

describe('LaneQueue', () => {
  let queue: LaneQueue<Entry>;

  beforeEach(() => {
    queue = new LaneQueue({ maxMachines: 4, maxBytes: 100 });
  });

  const add = (...machineIds: string[]): void => {
    for (const machineId of machineIds) queue.enqueue(entry(machineId));
  };

  /** Sends the machine's entry alone, and says how that went. */
  const sendAlone = (machineId: string, quality: CallQuality, notBeforeMs = 0): void => {
    add(machineId);
    expect(idsOf(queue.takeBatch(0))).toEqual([machineId]);
    queue.releaseMachine(machineId, quality, notBeforeMs);
  };

  /** Sends each alone, which fails. Ten thousand assertions would take seconds. */
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

  /** Of sixteen in a call, this one alone is suspected afterwards. */
  const suspectInFullBatch = (machineId: string): void => {
    const others = Array.from({ length: 15 }, (_, number) => `other-${number}`);
    add(machineId, ...others);
    expect(idsOf(queue.takeBatch(0))).toHaveLength(16);
    queue.releaseMachine(machineId, 'suspect');
    for (const other of others) queue.releaseMachine(other, 'ok');
  };

  describe('puts together', () => {
    it('entries of different machines, oldest first, up to its limit', () => {
      add('a', 'b', 'c', 'd', 'e');
      expect(idsOf(queue.takeBatch(0))).toEqual(['a', 'b', 'c', 'd']);
      expect(idsOf(queue.takeBatch(0))).toEqual(['e']);
      expect(queue.takeBatch(0)).toEqual([]);
    });

    it('no more bytes than a request may have', () => {
      queue.enqueue(entry('a', 0, 60));
      queue.enqueue(entry('b', 0, 40));
      queue.enqueue(entry('c', 0, 60));
      queue.enqueue(entry('d', 0, 41));
      queue.enqueue(entry('e', 0, 1));
      const batches = [queue.takeBatch(0), queue.takeBatch(0), queue.takeBatch(0)];
      expect(batches.map(idsOf)).toEqual([['a', 'b'], ['c'], ['d', 'e']]);
    });

    it('an even part of what is ready, where several requests are to share it', () => {
      add('a', 'b', 'c', 'd', 'e', 'f', 'g');
      const batches = [queue.takeBatch(0, 3), queue.takeBatch(0, 2), queue.takeBatch(0, 1)];
      expect(batches.map(idsOf)).toEqual([
        ['a', 'b', 'c'],
        ['d', 'e'],
        ['f', 'g'],
      ]);
    });

    it('no more than its limit, however few requests are to share what is ready', () => {
      add('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j');
      expect(idsOf(queue.takeBatch(0, 2))).toHaveLength(4);
    });

    it('an entry that is larger than a request may be with nothing else', () => {
      queue.enqueue(entry('a', 0, 500));
      queue.enqueue(entry('b', 0, 0));
      queue.enqueue(entry('c', 0, 500));
      queue.enqueue(entry('d'));
      const batches = [
        queue.takeBatch(0),
        queue.takeBatch(0),
        queue.takeBatch(0),
        queue.takeBatch(0),
      ];
      expect(batches.map(idsOf)).toEqual([['a'], ['b'], ['c'], ['d']]);
    });
  });

  describe('of one machine', () => {
    it('has one turn, and goes behind all others that wait', () => {
      queue = new LaneQueue({ maxMachines: 1, maxBytes: 100 });
      add('a', 'a', 'a', 'b', 'c');
      const order = [1, 2, 3, 4, 5].map(() => {
        const [taken] = queue.takeBatch(0);
        queue.releaseMachine(taken!.machineId, 'ok');
        return taken!.machineId;
      });
      expect(order).toEqual(['a', 'b', 'c', 'a', 'a']);
    });
  });

  describe('sends nothing before its time', () => {
    it('of an entry put back', () => {
      add('a', 'b');
      const [a] = queue.takeBatch(0);
      queue.putBack(a!, 'ok', 500);
      queue.releaseMachine('b', 'ok');
      expect(queue.nextDueMs).toBe(500);
      expect(queue.readyMachines(499)).toBe(0);
      expect(queue.takeBatch(499)).toEqual([]);
      expect(queue.readyMachines(500)).toBe(1);
      expect(idsOf(queue.takeBatch(500))).toEqual(['a']);
      expect(queue.nextDueMs).toBeUndefined();
    });

    it('of a machine whose entry has failed for good while a newer one waits', () => {
      add('a', 'a');
      queue.takeBatch(0);
      queue.releaseMachine('a', 'ok', 500);
      expect(queue.takeBatch(499)).toEqual([]);
      expect(idsOf(queue.takeBatch(500))).toEqual(['a']);
    });

    it('and is not held up by what another machine waits for', () => {
      add('a', 'b');
      queue.takeBatch(0);
      queue.putBack(entry('a'), 'ok', 900);
      queue.putBack(entry('b'), 'ok', 500);
      expect(queue.nextDueMs).toBe(500);
      expect(idsOf(queue.takeBatch(500))).toEqual(['b']);
      expect(queue.nextDueMs).toBe(900);
    });

    it('behind those that were ready while it had to wait', () => {
      add('a');
      queue.putBack(queue.takeBatch(0)[0]!, 'ok', 500);
      add('b', 'c');
      expect(idsOf(queue.takeBatch(500))).toEqual(['b', 'c', 'a']);
    });
  });

  describe('keeps a machine away from others', () => {
    beforeEach(() => {
      queue = new LaneQueue({ maxMachines: 16, maxBytes: 100 });
    });

    it('and leaves an eighth of its batch each time that goes wrong', () => {
      queue = new LaneQueue({ maxMachines: 128, maxBytes: 1000 });
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

    it('and an eighth of the batch it really had, not of what it could have had', () => {
      add('bad', 'a', 'b');
      for (const machineId of idsOf(queue.takeBatch(0))) queue.releaseMachine(machineId, 'suspect');
      add('bad', 'a', 'c');
      expect(idsOf(queue.takeBatch(0))).toEqual(['bad']);
      expect(idsOf(queue.takeBatch(0))).toEqual(['a']);
    });

    it('wherever it stands: who may join fewer than there are waits for the next batch', () => {
      suspectInFullBatch('bad');
      add('a', 'b', 'bad', 'c', 'd');
      expect(idsOf(queue.takeBatch(0))).toEqual(['a', 'b', 'c', 'd']);
      add('e', 'f');
      expect(idsOf(queue.takeBatch(0))).toEqual(['bad', 'e']);
    });

    it('and lets nobody join it beyond its batch limit', () => {
      suspectInFullBatch('bad');
      add('a', 'bad', 'c');
      expect(idsOf(queue.takeBatch(0))).toEqual(['a', 'bad']);
      expect(idsOf(queue.takeBatch(0))).toEqual(['c']);
    });

    it('altogether once it was at fault alone, until a call of its own goes well', () => {
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

    it('no more and no less after a call that says nothing of it', () => {
      sendAlone('good', 'unknown');
      suspectInFullBatch('bad');
      sendAlone('bad', 'unknown');
      add('good', 'bad', 'c', 'd');
      expect(idsOf(queue.takeBatch(0))).toEqual(['good', 'bad']);
    });

    it('until it is forgiven, whether it waits, is under way or has nothing to send', () => {
      for (const machineId of ['waits', 'under way', 'idle']) sendAlone(machineId, 'failed');
      add('under way');
      queue.takeBatch(0);
      add('waits');
      queue.liftBatchLimits();
      queue.releaseMachine('under way', 'unknown');
      add('under way', 'idle', 'another');
      expect(idsOf(queue.takeBatch(0))).toEqual(['waits', 'under way', 'idle', 'another']);
    });

    it('as long as it is among the ten thousand idle ones last suspected', () => {
      failAlone(10_001);
      add('wrong-0', 'x');
      expect(idsOf(queue.takeBatch(0))).toEqual(['wrong-0', 'x']);
      add('wrong-1', 'y');
      expect(idsOf(queue.takeBatch(0))).toEqual(['wrong-1']);
      expect(queue.busyMachines).toBe(4);
    });

    it('longest where it was suspected last', () => {
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

  describe('to see whether anything gets through', () => {
    const fail = (machineId: string): void => {
      queue.enqueue(entry(machineId));
      const [failed] = queue.takeBatch(0);
      queue.putBack(failed!, 'suspect', 10);
    };

    it('sends those whose last call did not go wrong, together', () => {
      for (const machineId of ['a', 'b']) fail(machineId);
      add('c', 'd');
      expect(idsOf(queue.takeProbe(10))).toEqual(['c', 'd']);
    });

    it('sends the others where there are no more', () => {
      for (const machineId of ['a', 'b']) fail(machineId);
      expect(idsOf(queue.takeProbe(10))).toEqual(['a']);
      queue.releaseMachine('a', 'ok');
      add('a');
      expect(idsOf(queue.takeProbe(10))).toEqual(['a']);
    });

    it('counts who could not be called as having failed', () => {
      add('a', 'b');
      const [a] = queue.takeBatch(0, 2);
      queue.putBack(a!, 'unknown', 10);
      expect(idsOf(queue.takeProbe(10))).toEqual(['b']);
    });

    it('does not forget who failed when all is forgiven', () => {
      fail('a');
      queue.liftBatchLimits();
      add('b');
      expect(idsOf(queue.takeProbe(10))).toEqual(['b']);
    });
  });

  describe('of the entries that wait', () => {
    it('lists them, and puts others in their place', () => {
      expect(queue.waitingOf('a').at(-1)).toBeUndefined();
      queue.replaceAll('a', [entry('a', 0)]);
      queue.replaceAll('a', [entry('a', 1), entry('a', 2)]);
      expect(queue.waitingOf('a')).toEqual([entry('a', 1), entry('a', 2)]);
      queue.replaceAll('a', [entry('a', 1), entry('a', 3)]);
      expect(queue.waitingOf('a').at(-1)).toEqual(entry('a', 3));
      expect(queue.waiting).toBe(2);
      expect(queue.takeBatch(0)).toEqual([entry('a', 1)]);
      queue.releaseMachine('a', 'ok');
      expect(queue.takeBatch(0)).toEqual([entry('a', 3)]);
      expect(queue.waitingOf('a').at(-1)).toBeUndefined();
    });

    it('does not take one under way for the newest', () => {
      queue.enqueue(entry('a', 1));
      queue.takeBatch(0);
      expect(queue.waitingOf('a').at(-1)).toBeUndefined();
      queue.replaceAll('a', [entry('a', 2)]);
      expect(queue.takeBatch(0)).toEqual([]);
      queue.releaseMachine('a', 'ok');
      expect(queue.takeBatch(0)).toEqual([entry('a', 2)]);
    });

    it('keeps the turn of the one that is replaced', () => {
      add('a', 'b');
      queue.replaceAll('a', [entry('a', 2)]);
      expect(queue.takeBatch(0)).toEqual([entry('a', 2), entry('b')]);
    });

    it('removes those that are meant, and keeps the others in their order', () => {
      for (const payload of [1, 2, 3, 4]) queue.enqueue(entry('a', payload));
      queue.enqueue(entry('b', 2));
      const removed = queue.removeWaiting(({ payload }) => payload % 2 === 0);
      expect(removed).toEqual([entry('a', 2), entry('a', 4), entry('b', 2)]);
      expect(queue.takeBatch(0)).toEqual([entry('a', 1)]);
      queue.releaseMachine('a', 'ok');
      expect(queue.takeBatch(0)).toEqual([entry('a', 3)]);
    });

    it('removes none that is under way, and none of its machine follows while it is', () => {
      for (const payload of [1, 2]) queue.enqueue(entry('a', payload));
      queue.takeBatch(0);
      expect(queue.removeWaiting(() => true)).toEqual([entry('a', 2)]);
      queue.enqueue(entry('a', 3));
      expect(queue.takeBatch(0)).toEqual([]);
      queue.releaseMachine('a', 'unknown');
      expect(queue.takeBatch(0)).toEqual([entry('a', 3)]);
    });

    it('sends none of a machine twice, nor early, for a time that one of those removed had to wait for', () => {
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

    it('sends none early for a time that is no longer the one it has to wait for', () => {
      queue.enqueue(entry('a', 1));
      queue.putBack(queue.takeBatch(0)[0]!, 'suspect', 500);
      queue.removeWaiting(() => true);
      queue.enqueue(entry('a', 2));
      queue.putBack(queue.takeBatch(100)[0]!, 'ok', 900);
      expect(queue.takeBatch(500)).toEqual([]);
      expect(queue.takeBatch(900)).toEqual([entry('a', 2)]);
    });

    it('removes those whose time has not come, and lets the others of the machine wait for it', () => {
      for (const payload of [1, 2]) queue.enqueue(entry('a', payload));
      queue.putBack(queue.takeBatch(0)[0]!, 'ok', 500);
      expect(queue.removeWaiting(({ payload }) => payload === 1)).toEqual([entry('a', 1)]);
      expect(queue.takeBatch(499)).toEqual([]);
      expect(queue.takeBatch(500)).toEqual([entry('a', 2)]);
      expect(queue.removeWaiting(() => true)).toEqual([]);
    });

    it('remembers the suspicion of a machine of which none is left', () => {
      sendAlone('bad', 'failed');
      add('bad');
      expect(queue.removeWaiting(() => true)).toHaveLength(1);
      add('bad', 'x');
      expect(idsOf(queue.takeBatch(0))).toEqual(['bad']);
    });

    it('counts them, and the machines they are of', () => {
      const counts = (): number[] => [queue.waiting, queue.busyMachines, queue.readyMachines(0)];
      expect(counts()).toEqual([0, 0, 0]);
      add('a', 'a', 'b', 'c');
      expect(counts()).toEqual([4, 3, 3]);
      queue.takeBatch(0);
      expect(counts()).toEqual([1, 3, 0]);
      queue.releaseMachine('a', 'ok');
      queue.releaseMachine('b', 'suspect');
      queue.putBack(entry('c'), 'ok', 500);
      expect(counts()).toEqual([2, 2, 1]);
      expect(queue.removeWaiting(() => true)).toHaveLength(2);
      expect(counts()).toEqual([0, 0, 0]);
    });
  });
});

const had = fc.integer({ min: 1, max: 1000 });
const slowness = fc.double({ min: 4, max: 10_000, noNaN: true });

describe('batchLimitAfter', () => {
  const afterSlow = (machines: number, times: number): number =>
    batchLimitAfter(NO_BATCH_LIMIT, machines, { slowness: times });

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
        const limit = afterSlow(machines, times);
        // rounding to whole machines may double the calls
        expect(machines / limit).toBeLessThanOrEqual(2 * 2 * times);
      }),
    );
  });

  it('finds a machine that is slow no later than one that fails', () => {
    fc.assert(
      fc.property(had, slowness, (machines, times) => {
        const afterFailure = batchLimitAfter(NO_BATCH_LIMIT, machines, 'suspect');
        expect(afterSlow(machines, times)).toBeLessThanOrEqual(afterFailure);
        expect(afterSlow(machines, times)).toBeGreaterThanOrEqual(1);
      }),
    );
  });
});
