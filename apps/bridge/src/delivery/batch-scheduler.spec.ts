import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { realNowMs } from '#libs/clock';
import { CallSlots } from '#libs/delivery';
import { BatchScheduler, CallSpread, WakeTimer } from './batch-scheduler.js';
import { Breaker, FlowStatus } from './flow-status.js';
import { LaneQueue } from './lane-queue.js';

const LIMITS = { maxMachines: 4, maxBytes: Infinity };
const LINGER_MS = 20;
/** The least wait for a probe. */
const PROBE_WAIT_MS = 200;
/** So many calls that follow one another make a flow that keeps coming. */
const STEADY_CALLS = 10;

describe('BatchScheduler', () => {
  let slots: CallSlots;
  let queue: LaneQueue<{ machineId: string; bytes: number }>;
  let status: FlowStatus;
  let scheduler: BatchScheduler<{ machineId: string; bytes: number }>;
  /** The machines of each call. */
  let calls: string[][];

  beforeAll(() => {
    Logger.overrideLogger(false);
  });

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['Date', 'nextTick', 'queueMicrotask', 'setImmediate'] });
    calls = [];
    slots = new CallSlots(8);
    queue = new LaneQueue(LIMITS);
    status = new FlowStatus('work-orders', new Breaker(() => 0));
    scheduler = new BatchScheduler(queue, status, { slots, limits: LIMITS }, (share) => {
      calls.push(queue.takeBatch(realNowMs(), share).map(({ machineId }) => machineId));
    });
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  const submit = (...machineIds: string[]): void => {
    for (const machineId of machineIds) queue.enqueue({ machineId, bytes: 1 });
    scheduler.lingerOrAsk(LINGER_MS);
  };

  const pause = (): void => {
    const failure = { machineId: 'a', busyMachines: 1, isShared: false, isProbe: false };
    const noToken = { cause: 'token-refused', why: '401', retryAfterMs: 0 } as const;
    status.failed({ ...failure, ...noToken });
  };

  it('wait for others, to leave in one call', () => {
    submit('a');
    jest.advanceTimersByTime(LINGER_MS - 1);
    submit('b');
    expect(calls).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(calls).toEqual([['a', 'b']]);
  });

  it('wait no longer once a call is full', () => {
    submit('a', 'b', 'c', 'd');
    expect(calls).toEqual([['a', 'b', 'c', 'd']]);
  });

  it('do not wait for others whose time has not come, and those leave once it has', () => {
    submit('a', 'b', 'c');
    jest.advanceTimersByTime(LINGER_MS);
    for (const machineId of ['a', 'b', 'c']) {
      queue.putBack({ machineId, bytes: 1 }, 'unknown', realNowMs() + 1000);
    }
    submit('d');
    expect(calls).toHaveLength(1);
    jest.advanceTimersByTime(LINGER_MS);
    expect(calls.slice(1)).toEqual([['d']]);
    jest.advanceTimersByTime(1000);
    expect(calls.slice(2).map((machines) => machines.sort())).toEqual([['a', 'b', 'c']]);
  });

  it('are of several calls where those keep coming that are not full', () => {
    const machines = Array.from({ length: 9 }, (_, index) => `m${index}`);
    const large = { ...LIMITS, maxMachines: 100 };
    queue = new LaneQueue(large);
    scheduler = new BatchScheduler(queue, status, { slots, limits: large }, (share) => {
      calls.push(queue.takeBatch(realNowMs(), share).map(({ machineId }) => machineId));
    });
    for (let call = 0; call < STEADY_CALLS; call += 1) scheduler.begun(realNowMs(), 1);
    submit(...machines);
    jest.advanceTimersByTime(LINGER_MS);
    expect(calls).toEqual([machines.slice(0, 5), machines.slice(5)]);
  });

  it('wait, while the flow is paused, until it may try one', () => {
    pause();
    submit('a');
    jest.advanceTimersByTime(PROBE_WAIT_MS - 1);
    expect(calls).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(calls).toEqual([['a']]);
  });

  it('wait for a slot, and share it with all that wait by then', () => {
    for (let slot = 0; slot < 8; slot += 1) slots.ask(() => undefined);
    submit('a');
    jest.advanceTimersByTime(LINGER_MS);
    queue.enqueue({ machineId: 'b', bytes: 1 });
    expect(calls).toEqual([]);
    slots.release();
    expect(calls).toEqual([['a', 'b']]);
  });
});

const NOW_MS = 5000;

describe('CallSpread', () => {
  let spread: CallSpread;

  beforeEach(() => {
    spread = new CallSpread();
  });

  const calls = (count: number, atMs: number): void => {
    for (let call = 1; call <= count; call += 1) spread.begun(atMs, false);
  };

  it.each([
    [0, 1],
    [1, 1],
    [8, 1],
    [9, 2],
    [17, 3],
    [25, 4],
    [99, 4],
  ])('lets %i machines share %i calls while commands keep coming', (machines, shared) => {
    calls(10, NOW_MS - 999);
    expect(spread.callsFor(machines, NOW_MS)).toBe(shared);
  });

  it('lets all share a call that come on their own', () => {
    expect(spread.callsFor(99, NOW_MS)).toBe(1);
    calls(1, NOW_MS - 1000);
    calls(9, NOW_MS - 1);
    expect(spread.callsFor(99, NOW_MS)).toBe(1);
    calls(1, NOW_MS - 1);
    expect(spread.callsFor(99, NOW_MS)).toBe(4);
  });

  it('lets all share a call as long as calls fill up', () => {
    spread.begun(NOW_MS - 999, true);
    calls(10, NOW_MS - 20);
    expect(spread.callsFor(99, NOW_MS)).toBe(1);
    expect(spread.callsFor(99, NOW_MS + 1)).toBe(4);
  });
});

const A_MONTH_MS = 30 * 24 * 3_600_000;

describe('WakeTimer', () => {
  let wokenMs: number[];
  let timer: WakeTimer;

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['Date', 'nextTick', 'queueMicrotask', 'setImmediate'] });
    wokenMs = [];
    const startMs = realNowMs();
    timer = new WakeTimer(() => wokenMs.push(realNowMs() - startMs));
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  const wakeIn = (ms: number): void => {
    timer.wakeAt(realNowMs() + ms);
  };

  it('wakes once, at the earliest of the times it was asked for', () => {
    for (const ms of [500, 200, 300]) wakeIn(ms);
    expect(jest.getTimerCount()).toBe(1);
    jest.advanceTimersByTime(A_MONTH_MS);
    expect(wokenMs).toEqual([200]);
  });

  it('wakes again when it is asked again', () => {
    wakeIn(200);
    jest.advanceTimersByTime(200);
    wakeIn(300);
    jest.advanceTimersByTime(300);
    expect(wokenMs).toEqual([200, 500]);
  });

  it('wakes soon for what is due already, and not before it is asked', () => {
    wakeIn(-1000);
    expect(wokenMs).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(wokenMs).toEqual([1]);
  });

  it('wakes somewhat early rather than at once for a time no timer reaches', () => {
    wakeIn(A_MONTH_MS);
    jest.advanceTimersByTime(1000);
    expect(wokenMs).toEqual([]);
    jest.advanceTimersByTime(A_MONTH_MS);
    expect(wokenMs).toHaveLength(1);
  });
});
