import { jest } from '@jest/globals';
import fc from 'fast-check';
import { backOffMs } from '#libs/delivery';
import {
  classifyAnswer,
  type DoubtedRefusal,
  Refusals,
  RETRY_BACK_OFF,
  type StartedCall,
  whileUndecided,
} from './verdict.js';

describe('classifyAnswer', () => {
  it('retries after a failure, no sooner than the back-off and Retry-After, and returns the latter', () => {
    const random = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
    const asked = fc.option(fc.nat(86_400_000));
    fc.assert(
      fc.property(asked, fc.integer({ min: 1, max: 1000 }), random, (afterMs, attempt, chance) => {
        const answer = { kind: 'retry' as const, afterMs, error: new Error('503') };
        const retryAfterMs = afterMs ?? 0;
        jest.spyOn(Math, 'random').mockReturnValue(chance);
        const waitMs = Math.max(retryAfterMs, backOffMs(attempt, RETRY_BACK_OFF));
        expect(classifyAnswer(answer, attempt)).toEqual({
          ...{ kind: 'retry', why: '503', cause: 'service', retryAfterMs, waitMs },
        });
      }),
    );
  });

  it('retries when the token is not accepted, and says so', () => {
    jest.spyOn(Math, 'random').mockReturnValue(1);
    const verdict = classifyAnswer({ kind: 'unauthorised', status: 401 }, 1);
    const why = 'the service answers 401: the token is not accepted';
    const again = { kind: 'retry', waitMs: 200, retryAfterMs: 0 };
    expect(verdict).toEqual({ ...again, cause: 'token-refused', why });
  });
});

describe('a doubtful refusal', () => {
  const refusal = (status: number) =>
    ({ kind: 'rejected', status, detail: `HTTP ${status}` }) as const;

  it('names possible causes while it is undecided', () => {
    expect(whileUndecided(refusal(403), 1)).toMatchObject({
      kind: 'retry',
      cause: 'forbidden',
      why: 'the service answers 403: the token lacks the scope',
    });
    expect(whileUndecided(refusal(404), 1)).toMatchObject({
      kind: 'retry',
      cause: 'unlisted-status',
      why: expect.stringMatching(/^HTTP 404; .*MACHINE_CLOUD_BASE_URL/) as string,
    });
  });
});

interface Doubting {
  machineId: string;
  doubtfulRefusal: DoubtedRefusal | undefined;
}

function commandOf(machineId: string): Doubting {
  return { machineId, doubtfulRefusal: undefined };
}

describe('a machine that is answered 403', () => {
  let nowMs: number;
  let refusals: Refusals;
  let command: Doubting;

  beforeEach(() => {
    nowMs = 100_000;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    refusals = new Refusals();
    // Many calls went well before the command came.
    otherGetsThrough();
    nowMs += 5000;
    command = commandOf('M-1');
  });

  const refused = (call = refusals.startCall(), it = command): string =>
    refusals.reviewRefusal(it, 403, call);
  const goesWell = (call: StartedCall, machineId = 'M-2'): void => {
    refusals.recordAnswered(call, [{ machineId }]);
  };
  const otherGetsThrough = (): void => goesWell(refusals.startCall());

  it('is at fault when another machine gets through after that, and it is refused again', () => {
    expect(refused()).toBe('undecided');
    otherGetsThrough();
    expect(refused()).toBe('at-fault');
  });

  it('is not at fault before it was called with a token that is known to work', () => {
    refused();
    const call = refusals.startCall();
    otherGetsThrough();
    expect(refused(call)).toBe('undecided');
    expect(refused()).toBe('at-fault');
  });

  it('is not at fault because another gets a listed refusal, which may precede the check of the token', () => {
    refused();
    refusals.recordAnswered(refusals.startCall());
    expect(refused()).toBe('undecided');
  });

  describe('in a quiet plant', () => {
    /** Refused first beside a call that goes well, and again after this time. */
    const refusedAfter = (ms: number, besideMs = 0): string => {
      const other = refusals.startCall();
      nowMs += besideMs;
      const call = refusals.startCall();
      goesWell(other);
      expect(refused(call)).toBe('undecided');
      nowMs += ms;
      return refused();
    };

    it('is at fault when another got through beside it, and it is refused for a while', () => {
      expect(refusedAfter(1999)).toBe('undecided');
      nowMs += 1;
      expect(refused()).toBe('at-fault');
    });

    it('is not at fault because of calls that got through long before', () => {
      expect(refusedAfter(60_000, 1001)).toBe('undecided');
    });

    // With the second value, the earlier entry is a generation older when it is read.
    it.each([0, 54_500])(
      'is not at fault if a call for it went well directly before: the token has lost its right (%i)',
      (laterMs) => {
        nowMs += laterMs;
        goesWell(refusals.startCall(), 'M-1');
        nowMs += 1000;
        expect(refusedAfter(60_000)).toBe('undecided');
      },
    );

    it('is at fault although a call for it went well long before', () => {
      goesWell(refusals.startCall(), 'M-1');
      nowMs += 1001;
      expect(refusedAfter(2000)).toBe('at-fault');
    });

    it('is not at fault when another is also refused, whichever was the last', () => {
      refused(undefined, commandOf('M-2'));
      nowMs += 1000;
      expect(refusedAfter(60_000)).toBe('undecided');
      refused(undefined, commandOf('M-2'));
      expect(refused()).toBe('undecided');
    });

    it('is at fault although another was refused long before', () => {
      refused(undefined, commandOf('M-2'));
      nowMs += 1001;
      expect(refusedAfter(2000)).toBe('at-fault');
    });
  });

  it('is never at fault because the token loses its right, in any order of begins and ends', () => {
    const order = fc.array(fc.record({ ends: fc.boolean(), which: fc.nat(20) }), { maxLength: 60 });
    fc.assert(
      fc.property(order, fc.nat(60), (steps, lostAt) => {
        refusals = new Refusals();
        const calls = new Map<StartedCall, { machine: Doubting; mayStill: boolean }>();
        const waiting: Doubting[] = [];
        steps.forEach(({ ends, which }, step) => {
          const mayStill = step < lostAt;
          const [call, it] = [...calls][which % Math.max(1, calls.size)] ?? [];
          if (!ends || call === undefined || it === undefined) {
            const machine = waiting.shift() ?? commandOf('M-1');
            calls.set(refusals.startCall(), { machine, mayStill });
            return;
          }
          calls.delete(call);
          if (it.mayStill) goesWell(call);
          else {
            expect(refused(call, it.machine)).toBe('undecided');
            waiting.push(it.machine);
          }
        });
      }),
    );
  });
});

/** The results of a flow's calls, in order. */
const step = fc.record({
  command: fc.nat({ max: 3 }),
  answer: fc.oneof(
    fc.constantFrom(400, 404).map((status) => ({ kind: 'unlisted' as const, status })),
    fc.constant({ kind: 'applied' as const, status: 200 }),
    fc.constant({ kind: 'listed' as const, status: 422 }),
  ),
});

describe('a refusal that the interface does not list', () => {
  it('counts against a command only if it is repeated after a call with a listed answer', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const refusals = new Refusals();
        const commands = new Map<number, Doubting>();
        const log: { number: number; command: number; status: number; isListed: boolean }[] = [];
        for (const { command, answer } of steps) {
          const call = refusals.startCall();
          const { number } = call;
          const { kind, status } = answer;
          const doubting = commands.get(command) ?? commandOf(`M-${command}`);
          commands.set(command, doubting);
          if (kind === 'unlisted') {
            const review = refusals.reviewRefusal(doubting, status, call);
            const mine = log.filter((entry) => entry.command === command && !entry.isListed);
            const run = mine.slice(mine.findLastIndex((entry) => entry.status !== status) + 1);
            const [first] = run;
            const proof = log.some((it) => it.isListed && first && it.number > first.number);
            expect(review === 'at-fault').toBe(proof);
            if (review === 'at-fault') commands.delete(command);
            log.push({ number, command, status, isListed: false });
            if (review === 'at-fault') {
              // Another message of the machine follows.
              for (const entry of log)
                if (entry.command === command && !entry.isListed) entry.command = -1;
            }
          } else {
            refusals.recordAnswered(call, kind === 'applied' ? [doubting] : []);
            log.push({ number, command: -1, status, isListed: true });
          }
        }
      }),
    );
  });

  it('does not count because of a call beside the second refusal: the route may have been repaired since', () => {
    const refusals = new Refusals();
    const doubting = commandOf('M-1');
    expect(refusals.reviewRefusal(doubting, 404, refusals.startCall())).toBe('undecided');
    const second = refusals.startCall();
    refusals.recordAnswered(refusals.startCall());
    expect(refusals.reviewRefusal(doubting, 404, second)).not.toBe('at-fault');
    expect(refusals.reviewRefusal(doubting, 404, refusals.startCall())).toBe('at-fault');
  });

  it('counts because of empty calls for three commands, and for others after one was applied', () => {
    const refusals = new Refusals();
    const review = (doubting: Doubting) =>
      refusals.reviewRefusal(doubting, 404, refusals.startCall());
    const bring = (): string[] => {
      const doubting = commandOf('M-1');
      const reviews = [review(doubting), review(doubting)];
      refusals.recordEmptyAnswered(refusals.startCall());
      return [...reviews, review(doubting)];
    };
    const asked = ['undecided', 'call-empty', 'at-fault'];
    for (let time = 0; time < 3; time += 1) expect(bring()).toEqual(asked);
    expect(bring()).toEqual(['undecided', 'undecided', 'undecided']);
    refusals.recordAnswered(refusals.startCall());
    expect(bring()).toEqual(['undecided', 'undecided', 'undecided']);
    refusals.recordAnswered(refusals.startCall(), [{ machineId: 'M-2' }]);
    expect(bring()).toEqual(asked);
  });
});
