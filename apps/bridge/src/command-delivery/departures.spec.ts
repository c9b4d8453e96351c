import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { realNowMs } from '#libs/clock';
import { Breaker, CallSlots, LaneQueue } from '#libs/delivery';
import { Departures } from './departures.js';
import { FlowStatus } from './flow-status.js';

const LIMITS = { maxMachines: 4, maxBytes: Infinity };
const LINGER_MS = 20;
/** The least wait for a probe. */
const PROBE_WAIT_MS = 200;
/** So many calls that follow one another make a flow that keeps coming. */
const STEADY_CALLS = 10;

describe('Departures', () => {
  let slots: CallSlots;
  let queue: LaneQueue<{ machineId: string; bytes: number }>;
  let status: FlowStatus;
  let departures: Departures<{ machineId: string; bytes: number }>;
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
    departures = new Departures(queue, status, { slots, limits: LIMITS }, (share) => {
      calls.push(queue.take(realNowMs(), share).map(({ machineId }) => machineId));
    });
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  const submit = (...machineIds: string[]): void => {
    for (const machineId of machineIds) queue.add({ machineId, bytes: 1 });
    departures.gather(LINGER_MS);
  };

  const pause = (): void => {
    const failure = { machineId: 'a', busyMachines: 1, inCompany: false, isProbe: false };
    const noToken = { cause: 'token-refused', why: '401', retryAfterMs: 0 } as const;
    status.failed({ ...failure, ...noToken });
  };

  it('wait for company, which leaves in one call', () => {
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

  it('do not count as company what has to wait for its time, and come when that is there', () => {
    submit('a', 'b', 'c');
    jest.advanceTimersByTime(LINGER_MS);
    for (const machineId of ['a', 'b', 'c']) {
      queue.putBack({ machineId, bytes: 1 }, 'untold', realNowMs() + 1000);
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
    departures = new Departures(queue, status, { slots, limits: large }, (share) => {
      calls.push(queue.take(realNowMs(), share).map(({ machineId }) => machineId));
    });
    for (let call = 0; call < STEADY_CALLS; call += 1) departures.begun(realNowMs(), 1);
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

  it('wait for a slot, for all that has gathered by then', () => {
    for (let slot = 0; slot < 8; slot += 1) slots.ask(() => undefined);
    submit('a');
    jest.advanceTimersByTime(LINGER_MS);
    queue.add({ machineId: 'b', bytes: 1 });
    expect(calls).toEqual([]);
    slots.release();
    expect(calls).toEqual([['a', 'b']]);
  });
});
