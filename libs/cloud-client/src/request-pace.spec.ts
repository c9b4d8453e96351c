import { jest } from '@jest/globals';
import fc from 'fast-check';
import { realNowMs } from '#libs/clock';
import { ServiceWithLogin } from '../test/service-with-login.js';
import { calls, connect, service as stub } from '../test/stubbed-client.js';
import { nextDueMs, RequestPace } from './request-pace.js';

describe('the next turn', () => {
  it('is due one spacing after the last was due, even if that was taken slightly late', () => {
    expect(nextDueMs(1000, 1000, 100)).toBe(1100);
    expect(nextDueMs(1000, 1001.5, 100)).toBe(1100);
  });

  it('does not come earlier because turns were missed', () => {
    expect(nextDueMs(1000, 1500, 100)).toBe(1598);
  });

  it('allows no more turns in a second than the limit, however late turns are taken', () => {
    const latenesses = fc.array(fc.double({ min: 0, max: 3000, noNaN: true }), { maxLength: 300 });
    const limits = fc.integer({ min: 1, max: 100 });
    fc.assert(
      fc.property(limits, latenesses, (perSecond, lateMs) => {
        const taken: number[] = [];
        let dueMs = 0;
        for (const late of lateMs) {
          const nowMs = Math.max(dueMs + late, taken.at(-1) ?? 0);
          taken.push(nowMs);
          dueMs = nextDueMs(dueMs, nowMs, 1000 / perSecond);
        }
        // by the lateness of timers, two turns may be closer together
        return taken.every((at, index) => (taken[index + perSecond] ?? Infinity) - at >= 997.9);
      }),
    );
  });
});

describe('a pace', () => {
  it('spaces turns evenly, first come, first served', async () => {
    const pace = new RequestPace(100);
    const passed: number[] = [];
    const startedMs = realNowMs();
    const turns = Array.from({ length: 15 }, async (_, index) => {
      await pace.awaitTurn('lookUp');
      passed.push(index);
    });
    await Promise.all(turns);
    expect(realNowMs() - startedMs).toBeGreaterThanOrEqual(14 * 10 - 2);
    expect(passed).toEqual(turns.map((_, index) => index));
  });

  it('keeps up with more turns than a timer has ticks', async () => {
    const pace = new RequestPace(20_000);
    const timers = jest.spyOn(globalThis, 'setTimeout');
    const startedMs = realNowMs();
    await Promise.all(Array.from({ length: 2000 }, () => pace.awaitTurn('lookUp')));
    expect(realNowMs() - startedMs).toBeGreaterThanOrEqual(95);
    // each allows at least the twenty turns of its millisecond, however late it is
    expect(timers.mock.calls.length).toBeLessThanOrEqual(200);
  });

  it('gives turns to commands and look-ups alternately with polls, even if those have waited longer', async () => {
    const pace = new RequestPace(100);
    const passed: string[] = [];
    const note = (name: string) => (): void => void passed.push(name);
    const polls = [1, 2, 3, 4].map((index) => pace.awaitTurn('poll').then(note(`poll ${index}`)));
    const lookUps = [1, 2].map((index) => pace.awaitTurn('lookUp').then(note(`look-up ${index}`)));
    const commands = [1, 2].map((index) =>
      pace.awaitTurn('command').then(note(`command ${index}`)),
    );
    await Promise.all([...polls, ...lookUps, ...commands]);
    expect(passed).toEqual([
      ...['poll 1', 'command 1', 'look-up 1', 'poll 2', 'command 2', 'look-up 2'],
      ...['poll 3', 'poll 4'],
    ]);
  });

  it('gives a turn to a look-up of a client beside many polls', async () => {
    const client = connect({ maxRequestsPerSecond: 20 });
    const polls = Array.from({ length: 8 }, () => client.getMachineState('M-1'));
    await Promise.all([...polls, client.getClassificationReasons('M-2')]);
    // by its sending: more polls may be sent before its answer arrives
    const first = stub.requests.slice(0, 4).map(({ url }) => url);
    expect(first).toContain('/api/v1/machineClassifications?machineId=M-2');
  });

  it('gives a returned turn to the next request, whether it waits already or not', async () => {
    const pace = new RequestPace(0.01);
    await pace.awaitTurn('command');
    pace.returnTurn();
    await pace.awaitTurn('lookUp');
    const waiting = pace.awaitTurn('lookUp');
    pace.returnTurn();
    await waiting;
  });

  it('gives the turn of a caller that gives up to the next one', async () => {
    jest.useFakeTimers();
    const pace = new RequestPace(1);
    await pace.awaitTurn('lookUp');
    const abort = new AbortController();
    const given = pace.awaitTurn('lookUp', abort.signal);
    const next = pace.awaitTurn('lookUp');
    abort.abort(new Error('shutting down'));
    await expect(given).rejects.toThrow('shutting down');
    await jest.advanceTimersByTimeAsync(1000);
    jest.useRealTimers();
    await next;
    await expect(pace.awaitTurn('lookUp', AbortSignal.abort(new Error('gone')))).rejects.toThrow(
      'gone',
    );
  });
});

describe('a client with a limit', () => {
  it('makes calls wait before their deadline begins, and the login before the calls', async () => {
    const service = new ServiceWithLogin(stub);
    const client = connect({
      token: { kind: 'login', email: 'me@example.com', password: 'hunter2' },
      // fewer than all of them wait
      timeoutMs: 2000,
      maxRequestsPerSecond: 5,
    });
    await client.getMachineInfo();
    service.judge = (token) => (token === 'token-1' ? 401 : 200);
    const startedMs = realNowMs();
    const answers = await Promise.all(Array.from({ length: 10 }, () => client.getMachineInfo()));
    expect(answers).toEqual(Array(10).fill({ kind: 'data', data: [] }));
    // a refused call, the login, and ten successful ones
    expect(realNowMs() - startedMs).toBeGreaterThanOrEqual(11 * 200 - 2);
    expect(calls.every(({ seconds }) => seconds < 2)).toBe(true);
    // before most calls: few are sent until the refusal arrives, and ten would wait before it
    expect(stub.requests.slice(2, 8).map(({ url }) => url)).toContain(
      '/api/v1/security/getAPIToken',
    );
  });

  it('asks the caller for an objection again when the turn of its call has come', async () => {
    const client = connect({ maxRequestsPerSecond: 5 });
    const lost = new Error('the partition is lost');
    let isLost = false;
    const objection = () => (isLost ? lost : undefined);
    const setLists = () => client.setWorkOrderList([], { signal: undefined, objection });
    await setLists();
    const waiting = setLists();
    isLost = true;
    await expect(waiting).rejects.toBe(lost);
    expect(stub.requests).toHaveLength(1);
  });
});
