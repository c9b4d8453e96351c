import { jest } from '@jest/globals';
import { realNowMs } from '#libs/clock';
import { CommandLanes, OpenCommands } from './command-lanes.js';
import {
  Command,
  type CommandResult,
  CommandWaiter,
  MessageAnswers,
  type Precedence,
} from './command.js';
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

  describe('where one command stands for all that wait', () => {
    it('takes over for how long the service has been failing', () => {
      lanes = lanesWith('newer');
      submit('first').attempts = 3;
      submit('second');
      expect(take()).toMatchObject({ payload: 'second', attempts: 3 });
    });

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
