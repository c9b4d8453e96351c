import { jest } from '@jest/globals';
import { CallSlots } from '#libs/delivery';
import { nextTurn } from '../testing/wait.js';
import { CallDrain } from './kafka-consumer.js';

const NEVER_MS = 60_000;

/** Runs everything that takes no time. */
async function pass(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await nextTurn();
}

describe('CallDrain', () => {
  let calls: CallSlots;
  let callDrain: CallDrain;
  /** Requests to the partitions, in order. */
  let log: string[];
  let flush: () => Promise<void>;
  let drained: Promise<void>;

  beforeEach(() => {
    log = [];
    flush = () => Promise.resolve();
    drained = Promise.resolve();
    calls = new CallSlots(2);
    callDrain = new CallDrain(calls, {
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

  afterEach(() => {
    jest.useRealTimers();
  });

  it('lets no call begin before it has ended, and commits the results of calls in flight', async () => {
    calls.tryAcquire();
    const ended = callDrain.drainCalls(NEVER_MS).then(() => log.push('has ended'));
    let hasBegun = false;
    calls.acquire(() => (hasBegun = true));
    await pass();
    log.length = 0;
    calls.release();
    await ended;
    await pass();
    expect([log, hasBegun]).toEqual([['commits', 'has ended'], false]);
    callDrain.resumeCalls();
    await pass();
    expect([hasBegun, log.at(-1)]).toEqual([true, 'goes on']);
  });

  it('commits the results of ended calls at once, while another call is in flight', async () => {
    calls.tryAcquire();
    const ended = callDrain.drainCalls(NEVER_MS);
    await pass();
    expect(log).toEqual(['pauses', 'commits']);
    calls.release();
    await ended;
  });

  it('commits the results of calls that end later soon, while another call hangs', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] });
    calls.tryAcquire();
    const ended = callDrain.drainCalls(NEVER_MS);
    log.length = 0;
    await jest.advanceTimersByTimeAsync(100);
    expect(log).toEqual(['commits']);
    calls.release();
    await ended;
    log.length = 0;
    await jest.advanceTimersByTimeAsync(1000);
    expect(log).toEqual([]);
  });

  it('does not wait long for entries of a topic that takes no records', async () => {
    flush = () => new Promise(() => undefined);
    drained = flush();
    await callDrain.drainCalls(NEVER_MS);
    expect(log.splice(0)).toEqual(['pauses', 'commits']);
    await callDrain.drainForStop();
    expect(log).toEqual(['pauses', 'commits', 'closes', 'goes on']);
  });

  it('cuts off calls in flight at the deadline', async () => {
    calls.tryAcquire();
    const { signal } = calls.permit;
    const ended = callDrain.drainCalls(1);
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    calls.release();
    await ended;
    expect(log).toEqual(['pauses', 'commits', 'commits']);
  });

  it('does not cut off calls once it has ended', async () => {
    calls.tryAcquire();
    const { signal } = calls.permit;
    const ended = callDrain.drainCalls(1);
    callDrain.resumeCalls();
    await ended;
    expect(signal.aborted).toBe(false);
  });

  it('drops messages that wait for a call before a stop, also in a rebalance, and only once calls have ended', async () => {
    calls.tryAcquire();
    const rebalancing = callDrain.drainCalls(NEVER_MS);
    const stopped = callDrain.drainForStop().then(() => log.push('stopped'));
    await pass();
    expect(log).toEqual(['pauses', 'commits', 'pauses', 'commits']);
    calls.release();
    await Promise.all([rebalancing, stopped]);
    expect(log.slice(4)).toEqual(['commits', 'commits', 'closes', 'goes on', 'stopped']);
  });
});
