import { Logger } from '@nestjs/common';
import { ManualClock } from '#libs/clock';
import { ConcurrencyLimit, type ServiceAnswer } from '#libs/delivery';
import { type CommandResult, FlowStatus, Forbidden } from '../command-delivery/index.js';
import { type ListAssignment } from './list-calls-options.js';
import { ListDispatcher } from './list-dispatcher.js';
import { ListWaiter } from './list-waiter.js';

const applied: ServiceAnswer = { kind: 'data' };
const refused: ServiceAnswer = { kind: 'rejected', status: 422, detail: 'no such machine' };

const NEVER = new AbortController().signal;

describe('ListDispatcher', () => {
  const calls: string[][] = [];
  const issued = new Map<string, number>();
  let answer: (assignments: readonly ListAssignment[]) => Promise<ServiceAnswer>;
  let dispatcher: ListDispatcher;

  beforeEach(() => {
    Logger.overrideLogger(false);
    calls.length = 0;
    issued.clear();
    answer = () => Promise.resolve(applied);
    dispatcher = new ListDispatcher({
      limits: { maxMachines: 8, maxBytes: 10_000 },
      lingerMs: 1,
      limit: new ConcurrencyLimit(4),
      status: new FlowStatus('work-orders'),
      clock: new ManualClock(1_763_680_000_000),
      call: (assignments) => {
        calls.push(assignments.map(({ machineId }) => machineId));
        return answer(assignments);
      },
      issuedAtApplied: (machineId) => issued.get(machineId),
      onApplied: ({ machineId }, issuedAt) => {
        if (issuedAt !== undefined) issued.set(machineId, issuedAt);
      },
    });
  });

  const set = (
    machineId: string,
    { issuedAt, signal = NEVER }: { issuedAt?: number; signal?: AbortSignal } = {},
  ): Promise<CommandResult> => {
    const waiter = new ListWaiter(signal, { calls: 0 });
    dispatcher.submit(machineId, {
      workingOrders: () => ['4711'],
      cumulative: false,
      forbidden: new Forbidden(),
      ...(issuedAt !== undefined && { issuedAt }),
      waiters: [waiter],
    });
    return waiter.result;
  };

  it('sends the lists of several machines in one call and says when they were applied', async () => {
    const results = await Promise.all(['a', 'b', 'c'].map((machineId) => set(machineId)));
    expect(calls).toEqual([['a', 'b', 'c']]);
    expect(results[0]).toEqual({
      kind: 'applied',
      machineId: 'a',
      attempts: 1,
      appliedAt: 1_763_680_000,
    });
    expect(dispatcher.busyMachines).toBe(0);
  });

  it('halves a refused call until the machine at fault is alone, and sends that alone from then on', async () => {
    answer = (assignments) =>
      Promise.resolve(assignments.some(({ machineId }) => machineId === 'bad') ? refused : applied);
    const machines = ['a', 'b', 'bad', 'd', 'e', 'f', 'g', 'h'];
    const results = await Promise.all(machines.map((machineId) => set(machineId)));
    expect(results.filter(({ kind }) => kind === 'rejected')).toMatchObject([
      { machineId: 'bad', httpStatus: 422, rejection: { code: 'rejected-by-service' } },
    ]);
    expect(calls.length).toBeLessThanOrEqual(7);
    calls.length = 0;
    await Promise.all(machines.map((machineId) => set(machineId)));
    expect(calls.filter((call) => call.includes('bad'))).toEqual([['bad']]);
  });

  it('does not lose its machines when a call throws', async () => {
    let thrown = false;
    answer = () => {
      if (thrown) return Promise.resolve(applied);
      thrown = true;
      return Promise.reject(new Error('a defect'));
    };
    await expect(set('a')).resolves.toMatchObject({ kind: 'applied', attempts: 2 });
  });

  it('supersedes what was issued before the list applied last', async () => {
    await set('a', { issuedAt: 20 });
    await expect(set('a', { issuedAt: 10 })).resolves.toMatchObject({
      kind: 'superseded',
      attempts: 0,
    });
    expect(calls).toHaveLength(1);
  });

  it('does not send what nobody waits for any more', async () => {
    const controller = new AbortController();
    const lost = set('a', { signal: controller.signal });
    controller.abort(new Error('the partition is lost'));
    await expect(lost).rejects.toThrow('the partition is lost');
    await set('b');
    expect(calls).toEqual([['b']]);
    expect(dispatcher.busyMachines).toBe(0);
  });

  it('waits, though its message is lost, for the call that is under way', async () => {
    const controller = new AbortController();
    let end: (result: ServiceAnswer) => void = () => undefined;
    const begun = new Promise<void>((begin) => {
      answer = () =>
        new Promise((resolve) => {
          end = resolve;
          begin();
        });
    });
    const result = set('a', { signal: controller.signal });
    await begun;
    controller.abort(new Error('stopping'));
    end(applied);
    await expect(result).resolves.toMatchObject({ kind: 'applied' });
  });

  it('gives up after a call that failed when its message is lost meanwhile', async () => {
    const controller = new AbortController();
    answer = () => {
      controller.abort(new Error('stopping'));
      return Promise.resolve({ kind: 'retry', afterMs: null, error: new Error('HTTP 503') });
    };
    await expect(set('a', { signal: controller.signal })).rejects.toThrow('stopping');
    expect(calls).toHaveLength(1);
  });

  it('frees those who wait when their message is lost while a refused call is being split', async () => {
    const controller = new AbortController();
    answer = () => {
      controller.abort(new Error('stopping'));
      return Promise.resolve(refused);
    };
    const results = ['a', 'b'].map((id) => set(id, { signal: controller.signal }));
    for (const result of results) await expect(result).rejects.toThrow('stopping');
    expect(calls).toEqual([['a', 'b']]);
    expect(dispatcher.busyMachines).toBe(0);
  });

  it('keeps nobody waiting whose message was lost before it came to wait', async () => {
    const lost = AbortSignal.abort(new Error('the partition is lost'));
    await expect(set('a', { signal: lost })).rejects.toThrow('the partition is lost');
  });
});
