import { jest } from '@jest/globals';
import { realNowMs } from '#libs/clock';
import { CommandWaiter } from './command.js';
import { type CommandResult } from './command-result.js';
import { MessageAnswers } from './message-answers.js';
import { OpenCommands } from './open-commands.js';
import { inboundMessage } from './testing/inbound-message.js';

const DEFERRED_AFTER_MS = 60_000;
/** Nobody has to know to the millisecond who waits too long. */
const SWEEP_MS = 250;

const applied = { kind: 'applied', appliedAt: 100 } as const;

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

  it('counts from when the time of what is held has come, and so for all behind it', async () => {
    const held = wait('M-1');
    wait('M-2');
    open.hold('M-1', realNowMs() + 30_000);
    await pass(10_000);
    wait('M-1');
    await pass(DEFERRED_AFTER_MS + SWEEP_MS - 10_000);
    expect(deferred).toEqual(['M-2']);
    expect(open.oldestAgeMs(realNowMs())).toBe(realNowMs() - held.sinceMs);
    await pass(30_000 - SWEEP_MS - 1);
    expect(deferred).toEqual(['M-2']);
    wait('M-1');
    await pass(SWEEP_MS + 1);
    expect(deferred).toEqual(['M-2', 'M-1', 'M-1']);
    await pass(DEFERRED_AFTER_MS);
    expect(deferred).toEqual(['M-2', 'M-1', 'M-1', 'M-1']);
  });

  it('says nothing of what is settled after it was held', async () => {
    const waiter = wait('M-1');
    open.hold('M-1', realNowMs() + 30_000);
    await pass(DEFERRED_AFTER_MS + SWEEP_MS);
    open.settle(waiter, applied);
    await pass(DEFERRED_AFTER_MS);
    expect(deferred).toEqual([]);
    expect(open.size).toBe(0);
  });

  it.each([
    [
      'settled',
      (waiter: CommandWaiter) => {
        open.settle(waiter, applied);
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

  it('knows how many wait, and for how long the one that has waited longest', async () => {
    expect(open.oldestAgeMs(realNowMs())).toBe(0);
    const first = wait('M-1');
    await pass(2 * DEFERRED_AFTER_MS);
    const second = wait('M-2');
    await pass(500);
    expect(open.size).toBe(2);
    expect(open.oldestAgeMs(realNowMs())).toBe(2 * DEFERRED_AFTER_MS + 500);
    open.settle(first, applied);
    expect(open.size).toBe(1);
    expect(open.oldestAgeMs(realNowMs())).toBe(500);
    open.settle(second, applied);
    expect(open.size).toBe(0);
    expect(open.oldestAgeMs(realNowMs())).toBe(0);
  });

  it('tells what became of a command, after how many calls', async () => {
    const waiter = wait('M-1');
    waiter.calls = 3;
    open.settle(waiter, applied);
    await pass(0);
    expect(results).toEqual([{ kind: 'applied', machineId: 'M-1', attempts: 3, appliedAt: 100 }]);
    expect(ends).toEqual(['finished']);
  });

  it('tells so of one that has been deferred, too', async () => {
    const waiter = wait('M-1');
    await pass(2 * DEFERRED_AFTER_MS);
    open.settle(waiter, applied);
    await pass(0);
    expect(results).toMatchObject([{ kind: 'applied' }]);
  });

  it('ends each once: what comes first counts', async () => {
    const bug = new Error('a bug');
    const waiters = ['M-1', 'M-2', 'M-3'].map(wait);
    const [settled, abandoned, failed] = waiters;
    open.settle(settled!, applied);
    open.abandon(abandoned!);
    open.fail(failed!, bug);
    await pass(0);
    expect(ends).toEqual(['finished', 'abandoned', bug]);
    for (const waiter of waiters) {
      open.settle(waiter, applied);
      open.abandon(waiter);
      open.fail(waiter, bug);
    }
    await pass(0);
    expect(ends).toHaveLength(3);
    expect(results).toHaveLength(1);
  });

  it('rests while nobody waits', async () => {
    open.settle(wait('M-1'), applied);
    await pass(SWEEP_MS);
    expect(jest.getTimerCount()).toBe(0);
    wait('M-2');
    await pass(2 * DEFERRED_AFTER_MS);
    expect(deferred).toEqual(['M-2']);
  });
});
