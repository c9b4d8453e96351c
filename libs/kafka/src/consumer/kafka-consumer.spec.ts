import { Logger } from '@nestjs/common';
import { CallDrain } from './kafka-consumer.js';
import { TestCalls } from './testing/test-calls.js';
import { nextTurn } from './testing/wait.js';

const NEVER_MS = 60_000;

/** Lets everything come about that takes no time. */
async function pass(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await nextTurn();
}

describe('CallDrain', () => {
  let calls: TestCalls;
  let rest: CallDrain;
  /** What is asked of the queues, in its order. */
  let log: string[];
  let flush: () => Promise<void>;
  let drained: Promise<void>;

  beforeAll(() => {
    Logger.overrideLogger(false);
  });

  beforeEach(() => {
    log = [];
    flush = () => Promise.resolve();
    drained = Promise.resolve();
    calls = new TestCalls();
    rest = new CallDrain(calls, {
      pauseAll: () => log.push('pauses'),
      resumeAll: () => log.push('goes on'),
      commitPending: () => {
        log.push('commits');
        return flush();
      },
      closeBuffers: () => {
        log.push('closes');
        return drained;
      },
    });
  });

  it('lets nothing begin before it has ended', async () => {
    await rest.drainForRebalance(NEVER_MS);
    expect(log).toEqual(['pauses', 'commits']);
    let hasBegun = false;
    void calls.begin().then(() => (hasBegun = true));
    await pass();
    expect(hasBegun).toBe(false);
    rest.resumeCalls();
    await pass();
    expect([hasBegun, log.at(-1)]).toEqual([true, 'goes on']);
  });

  it('commits what calls have led to that were still under way', async () => {
    await calls.begin();
    const atRest = rest.drainForRebalance(NEVER_MS).then(() => log.push('at rest'));
    await pass();
    expect(log).toEqual(['pauses']);
    calls.end();
    await atRest;
    expect(log).toEqual(['pauses', 'commits', 'at rest']);
  });

  it('does not wait for long for what no topic takes', async () => {
    flush = () => new Promise(() => undefined);
    await rest.drainForRebalance(NEVER_MS);
    expect(log).toEqual(['pauses', 'commits']);
  });

  it('cuts off what is under way at the deadline', async () => {
    await calls.begin();
    const { signal } = calls;
    const atRest = rest.drainForRebalance(1);
    await new Promise((resolve) => {
      signal.addEventListener('abort', resolve);
    });
    calls.end();
    await atRest;
    expect(log).toEqual(['pauses', 'commits']);
  });

  it('does not cut off calls once it has ended', async () => {
    await calls.begin();
    const { signal } = calls;
    const atRest = rest.drainForRebalance(1);
    rest.resumeCalls();
    await atRest;
    expect(signal.aborted).toBe(false);
  });

  it('lets calls end before a stop, and those go on that a rest has kept waiting', async () => {
    await rest.drainForRebalance(NEVER_MS);
    let drain: () => void = () => undefined;
    drained = new Promise((resolve) => (drain = resolve));
    const finished = rest.drainForStop().then(() => log.push('finished'));
    await pass();
    expect(log.slice(2)).toEqual(['pauses', 'closes', 'goes on']);
    drain();
    await finished;
    expect(log.at(-1)).toBe('finished');
  });
});
