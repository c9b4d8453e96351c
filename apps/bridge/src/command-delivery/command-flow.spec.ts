import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ManualClock, realNowMs } from '#libs/clock';
import { ConcurrencyLimit, type ServiceAnswer } from '#libs/delivery';
import { type Command, CommandFlow } from './command-flow.js';

const AN_HOUR_MS = 3_600_000;
const APPLIED_AT = 1_763_680_000;
const data: ServiceAnswer = { kind: 'data' };

function retry(afterMs: number | null): ServiceAnswer {
  return { kind: 'retry', afterMs, error: new Error('503 from the service') };
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('CommandFlow', () => {
  let flow: CommandFlow;
  let calls: number;

  beforeAll(() => {
    Logger.overrideLogger(false);
    // the shortest back-off there is
    jest.spyOn(Math, 'random').mockReturnValue(0);
  });

  afterAll(() => {
    jest.restoreAllMocks();
  });

  beforeEach(() => {
    calls = 0;
    flow = new CommandFlow(
      'work-orders',
      new ConcurrencyLimit(1),
      new ManualClock(APPLIED_AT * 1000),
    );
  });

  /** A command that the service answers so, one answer a call. */
  function command(answers: readonly ServiceAnswer[], more: Partial<Command> = {}): Command {
    const left = [...answers];
    return {
      machineId: 'M-1',
      signal: new AbortController().signal,
      progress: { calls: 0 },
      refuse: () => Promise.resolve(undefined),
      call: () => {
        calls += 1;
        const answer = left.shift();
        return answer ? Promise.resolve(answer) : Promise.reject(new Error('one call too many'));
      },
      ...more,
    };
  }

  it('waits, without a call, while the service cannot be asked what there is', async () => {
    let asked = 0;
    const refuse = () => {
      asked += 1;
      return Promise.resolve(asked === 1 ? ('unavailable' as const) : undefined);
    };
    const result = await flow.callUntilFinal(command([{ kind: 'data' }], { refuse }));
    expect(result).toMatchObject({ kind: 'applied', attempts: 1 });
    expect({ asked, calls }).toEqual({ asked: 2, calls: 1 });
  });

  it.each(['data', 'noData'] as const)(
    'takes %s for applied, by the clock of the plant',
    async (kind) => {
      await expect(flow.callUntilFinal(command([{ kind }]))).resolves.toEqual({
        kind: 'applied',
        machineId: 'M-1',
        attempts: 1,
        appliedAt: APPLIED_AT,
      });
    },
  );

  it('calls until the service has taken the command', async () => {
    const answers: ServiceAnswer[] = [retry(null), { kind: 'unauthorised', status: 401 }, data];
    const result = await flow.callUntilFinal(command(answers));
    expect(result).toMatchObject({ kind: 'applied', attempts: 3 });
    expect(flow.status.pausedBecause).toBeUndefined();
  });

  it('waits at least as long as Retry-After asks', async () => {
    const before = realNowMs();
    await flow.callUntilFinal(command([retry(40), data]));
    // timers may be a millisecond early
    expect(realNowMs() - before).toBeGreaterThanOrEqual(39);
  });

  it("is rejected by the service's refusal, without another call", async () => {
    const answer: ServiceAnswer = { kind: 'rejected', status: 422, detail: 'no such order' };
    await expect(flow.callUntilFinal(command([retry(null), answer]))).resolves.toEqual({
      kind: 'rejected',
      machineId: 'M-1',
      attempts: 2,
      rejection: { code: 'rejected-by-service', detail: 'no such order' },
      httpStatus: 422,
    });
  });

  it('is rejected without a call by what is known to be wrong with it', async () => {
    const rejection = { code: 'unknown-machine', detail: 'no M-1' } as const;
    const refused = command([], { refuse: () => Promise.resolve(rejection) });
    await expect(flow.callUntilFinal(refused)).resolves.toEqual({
      kind: 'rejected',
      machineId: 'M-1',
      attempts: 0,
      rejection,
    });
    expect(calls).toBe(0);
  });

  it('asks before each call what is wrong: that may have changed while the command waited', async () => {
    const rejection = { code: 'unknown-machine', detail: 'removed meanwhile' } as const;
    const refuse = () => Promise.resolve(calls === 0 ? undefined : rejection);
    const result = await flow.callUntilFinal(command([retry(null)], { refuse }));
    expect(result).toMatchObject({ kind: 'rejected', attempts: 1, rejection });
  });

  it('ends with the reason of its signal, before a call and while it waits for the next', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const waiting = flow.callUntilFinal(command([retry(AN_HOUR_MS)], { signal }));
    await nextTurn();
    controller.abort(new Error('revoked'));
    await expect(waiting).rejects.toThrow('revoked');
    await expect(flow.callUntilFinal(command([data], { signal }))).rejects.toThrow('revoked');
    expect(calls).toBe(1);
  });

  it('makes no call for a message that was lost while it was looked into', async () => {
    const controller = new AbortController();
    const refuse = () => {
      controller.abort(new Error('revoked'));
      return Promise.resolve(undefined);
    };
    const lost = flow.callUntilFinal(command([data], { signal: controller.signal, refuse }));
    await expect(lost).rejects.toThrow('revoked');
    expect(calls).toBe(0);
  });

  it('makes no call for a message that was lost while it waited for its turn to call', async () => {
    const controller = new AbortController();
    let answer: (answer: ServiceAnswer) => void = () => undefined;
    const called = new Promise<ServiceAnswer>((resolve) => {
      answer = resolve;
    });
    const first = flow.callUntilFinal(command([], { call: () => called }));
    const lost = flow.callUntilFinal(command([data], { signal: controller.signal }));
    await nextTurn();
    controller.abort(new Error('revoked'));
    answer(data);
    await expect(lost).rejects.toThrow('revoked');
    await expect(first).resolves.toMatchObject({ kind: 'applied' });
    expect(calls).toBe(0);
  });

  it('takes no place from other machines while it waits for its next attempt', async () => {
    const controller = new AbortController();
    const waiting = command([retry(AN_HOUR_MS)], { signal: controller.signal });
    const stuck = flow.inLane('M-1', () => flow.callUntilFinal(waiting));
    const other = command([data], { machineId: 'M-2' });
    const result = await flow.inLane('M-2', () => flow.callUntilFinal(other));
    expect(result).toMatchObject({ kind: 'applied', machineId: 'M-2' });
    await nextTurn();
    expect(flow.busyMachines).toBe(1);
    controller.abort(new Error('the end'));
    await expect(stuck).rejects.toThrow('the end');
  });

  it("runs a machine's commands in their order, the next one after the last is final", async () => {
    const log: string[] = [];
    const logged = (name: string, answers: readonly ServiceAnswer[]): Command => {
      const { call, ...rest } = command(answers);
      return {
        ...rest,
        call: () => {
          log.push(name);
          return call();
        },
      };
    };
    await Promise.all([
      flow.inLane('M-1', () => flow.callUntilFinal(logged('first', [retry(null), data]))),
      flow.inLane('M-1', () => flow.callUntilFinal(logged('second', [data]))),
    ]);
    expect(log).toEqual(['first', 'first', 'second']);
    await nextTurn();
    expect(flow.busyMachines).toBe(0);
  });

  it('shows that it stands still while the token is refused', async () => {
    const controller = new AbortController();
    let refused: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => {
      refused = resolve;
    });
    const call = (): Promise<ServiceAnswer> => {
      refused();
      return Promise.resolve({ kind: 'unauthorised', status: 403 });
    };
    const running = flow.callUntilFinal(command([], { call, signal: controller.signal }));
    await answered;
    await nextTurn();
    expect(flow.status.pausedBecause).toContain('403');
    controller.abort(new Error('the end'));
    await expect(running).rejects.toThrow('the end');
  });
});
