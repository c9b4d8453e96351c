import fc from 'fast-check';
import {
  classifyAnswer,
  type FlowCalls,
  ForbiddenAttribution,
  isUnlisted,
  RETRY_BACK_OFF,
  type ServiceAnswer,
  type StartedCall,
  type UnlistedRefusal,
  UnlistedRefusals,
  type Verdict,
} from './verdict.js';

const longest = (): number => 1;

function retry(afterMs: number | null): ServiceAnswer {
  return { kind: 'retry', afterMs, error: new Error('503 from the service') };
}

describe('classifyAnswer', () => {
  it.each(['data', 'noData'] as const)('takes %s for applied', (kind) => {
    expect(classifyAnswer({ kind }, 1)).toEqual({ kind: 'applied' });
  });

  it('passes a refusal on as it is', () => {
    const refusal = { kind: 'rejected', status: 422, detail: 'no such reason' } as const;
    expect(classifyAnswer(refusal, 3)).toEqual(refusal);
  });

  it('tries again after a failure, longer each time', () => {
    const why = '503 from the service';
    const tryAgain = { kind: 'try-again', why, cause: 'service', retryAfterMs: 0 };
    expect(classifyAnswer(retry(null), 1, longest)).toEqual({ ...tryAgain, waitMs: 200 });
    expect(classifyAnswer(retry(null), 2, longest)).toEqual({ ...tryAgain, waitMs: 400 });
  });

  it('takes Retry-After for the floor of its own back-off, not for a way around it', () => {
    expect(classifyAnswer(retry(60_000), 1, longest)).toHaveProperty('waitMs', 60_000);
    expect(classifyAnswer(retry(0), 1, longest)).toHaveProperty('waitMs', 200);
  });

  it('distinguishes what the service asked for from its own back-off, which asks for nothing', () => {
    expect(classifyAnswer(retry(60_000), 1, longest)).toHaveProperty('retryAfterMs', 60_000);
    expect(classifyAnswer(retry(50), 1, longest)).toMatchObject({ retryAfterMs: 50, waitMs: 200 });
    expect(classifyAnswer(retry(null), 9, longest)).toHaveProperty('retryAfterMs', 0);
  });

  it('waits as long as Retry-After asks, and no longer than the cap otherwise', () => {
    const random = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
    const asked = fc.option(fc.nat(86_400_000));
    fc.assert(
      fc.property(asked, fc.integer({ min: 1, max: 1000 }), random, (afterMs, attempt, chance) => {
        const verdict = classifyAnswer(retry(afterMs), attempt, () => chance);
        if (verdict.kind !== 'try-again') throw new Error('a failure is tried again');
        expect(verdict.retryAfterMs).toBe(afterMs ?? 0);
        expect(verdict.waitMs).toBeGreaterThanOrEqual(verdict.retryAfterMs);
        expect(verdict.waitMs).toBeLessThanOrEqual(Math.max(afterMs ?? 0, RETRY_BACK_OFF.capMs));
      }),
    );
  });

  it.each([401, 403] as const)(
    'tries again when the token is refused with %i, and says whether one machine may be the cause',
    (status) => {
      const verdict = classifyAnswer({ kind: 'unauthorised', status }, 1, longest);
      expect(verdict).toMatchObject({
        kind: 'try-again',
        waitMs: 200,
        retryAfterMs: 0,
        cause: status === 403 ? 'forbidden' : 'token-refused',
      });
      expect(verdict).toHaveProperty(
        'why',
        `the service answers ${status}: the token ${status === 401 ? 'is not accepted' : 'lacks the scope'}`,
      );
    },
  );
});

const forbidden: Verdict = {
  kind: 'try-again',
  waitMs: 0,
  retryAfterMs: 0,
  why: '403',
  cause: 'forbidden',
};
const atFault = { kind: 'rejected', status: 403 };

/** The calls of a flow: what began when, and what went well. */
class Calls implements FlowCalls {
  nowMs = 100_000;
  /** Much has gone well before the command came. */
  latestBegun = 1000;
  latestAppliedMs = this.nowMs - 5000;
  isAnotherForbidden = false;
  latestAppliedMsOfIt = -Infinity;
  private latestApplied = 1000;

  begin(): StartedCall {
    this.latestBegun += 1;
    return {
      number: this.latestBegun,
      latestApplied: this.latestApplied,
      startedMs: this.nowMs,
    };
  }

  goesWell({ number, startedMs }: StartedCall): void {
    this.latestApplied = Math.max(this.latestApplied, number);
    this.latestAppliedMs = Math.max(this.latestAppliedMs, startedMs);
  }

  latestAppliedMsOf(): number {
    return this.latestAppliedMsOfIt;
  }

  wasAnotherForbidden(): boolean {
    return this.isAnotherForbidden;
  }
}

describe('a machine that is answered 403', () => {
  let calls: Calls;
  let command: ForbiddenAttribution;

  beforeEach(() => {
    calls = new Calls();
    command = new ForbiddenAttribution('M-1');
  });

  const refused = (call = calls.begin()): Verdict => command.review(forbidden, call, calls);
  const otherGetsThrough = (): void => {
    calls.goesWell(calls.begin());
  };

  it('is at fault when another gets through after that, and it is refused once more', () => {
    expect(refused()).toBe(forbidden);
    otherGetsThrough();
    expect(refused()).toMatchObject(atFault);
  });

  it('is not at fault before it has been tried with a token that is known to work', () => {
    refused();
    const call = calls.begin();
    otherGetsThrough();
    expect(refused(call)).toBe(forbidden);
    expect(refused()).toMatchObject(atFault);
  });

  describe('and nobody calls any more', () => {
    /** It is refused first beside a call that goes well, and again after so long. */
    const refusedAfter = (ms: number, besideMs = 0): Verdict => {
      const other = calls.begin();
      calls.nowMs += besideMs;
      const call = calls.begin();
      calls.goesWell(other);
      expect(refused(call)).toBe(forbidden);
      calls.nowMs += ms;
      return refused();
    };

    it('is at fault when another got through beside it, and it is refused for a while', () => {
      expect(refusedAfter(1999)).toBe(forbidden);
      calls.nowMs += 1;
      expect(refused()).toMatchObject(atFault);
    });

    it('is not at fault for what got through long before', () => {
      expect(refusedAfter(60_000, 1001)).toBe(forbidden);
    });

    it('is not at fault when it was called itself right before: the token has lost its right', () => {
      calls.latestAppliedMsOfIt = calls.nowMs - 1000;
      expect(refusedAfter(60_000)).toBe(forbidden);
    });

    it('is at fault though it was called itself long before', () => {
      calls.latestAppliedMsOfIt = calls.nowMs - 1001;
      expect(refusedAfter(2000)).toMatchObject(atFault);
    });

    it('is not at fault when others are refused, too', () => {
      calls.isAnotherForbidden = true;
      expect(refusedAfter(60_000)).toBe(forbidden);
    });
  });

  describe('in a shared call first', () => {
    const ids = ['M-1', 'M-2', 'M-3'];
    let others: ForbiddenAttribution[];
    let alone: StartedCall[];

    beforeEach(() => {
      others = [new ForbiddenAttribution('M-2'), new ForbiddenAttribution('M-3')];
      const shared = { suspects: new Set(ids), sinceCall: calls.latestBegun };
      for (const each of [command, ...others]) each.shared = shared;
      // they part, and are called side by side
      alone = [1, 2, 3].map(() => calls.begin());
    });

    const goesWell = (index: number): void => {
      others[index]!.wentWell();
      calls.goesWell(alone[index + 1]!);
    };

    it('is at fault when all others of that call go well, though nobody else calls any more', () => {
      expect(refused(alone[0])).toBe(forbidden);
      goesWell(0);
      goesWell(1);
      expect(refused()).toMatchObject(atFault);
    });

    it('is not at fault while another of them may have been', () => {
      expect(refused(alone[0])).toBe(forbidden);
      goesWell(0);
      for (let time = 0; time < 10; time += 1) expect(refused()).toBe(forbidden);
    });

    it('is not at fault before it has been tried again since the others went well', () => {
      goesWell(0);
      goesWell(1);
      expect(refused(alone[0])).toBe(forbidden);
      expect(refused()).toMatchObject(atFault);
    });
  });

  it('is never at fault because the token loses its right, in whatever order calls begin and end', () => {
    const order = fc.array(fc.record({ ends: fc.boolean(), which: fc.nat(20) }), { maxLength: 60 });
    fc.assert(
      fc.property(order, fc.nat(60), (steps, lostAt) => {
        calls = new Calls();
        const machines = new Map<
          StartedCall,
          { machine: ForbiddenAttribution; mayStill: boolean }
        >();
        const waiting: ForbiddenAttribution[] = [];
        steps.forEach(({ ends, which }, step) => {
          const mayStill = step < lostAt;
          const [call, it] = [...machines][which % Math.max(1, machines.size)] ?? [];
          if (!ends || call === undefined || it === undefined) {
            machines.set(calls.begin(), {
              machine: waiting.shift() ?? new ForbiddenAttribution('M-1'),
              mayStill,
            });
            return;
          }
          machines.delete(call);
          if (it.mayStill) calls.goesWell(call);
          else {
            expect(it.machine.review(forbidden, call, calls)).toBe(forbidden);
            waiting.push(it.machine);
          }
        });
      }),
    );
  });
});

interface Doubted {
  unlisted: UnlistedRefusal | undefined;
}

/** What a flow's calls come to, one after the other. */
const step = fc.record({
  command: fc.nat({ max: 3 }),
  answer: fc.oneof(
    fc.constantFrom(400, 404).map((status) => ({ kind: 'unlisted' as const, status })),
    fc.constant({ kind: 'applied' as const, status: 200 }),
    fc.constant({ kind: 'listed' as const, status: 422 }),
  ),
});

describe('a refusal that the interface does not list', () => {
  it.each([
    [404, true],
    [403, false],
    [422, false],
  ])('is %i: %j', (status, isIt) => {
    expect(isUnlisted({ kind: 'rejected', status, detail: '' })).toBe(isIt);
  });

  it('counts against a command only when the same came before it and after a call that was answered as listed', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const refusals = new UnlistedRefusals();
        const commands = new Map<number, Doubted>();
        const log: { number: number; command: number; status: number; isListed: boolean }[] = [];
        for (const [index, { command, answer }] of steps.entries()) {
          const number = index + 1;
          const { kind, status } = answer;
          const call = { number, latestApplied: 0, startedMs: 0 };
          const doubted = commands.get(command) ?? { unlisted: undefined };
          commands.set(command, doubted);
          if (kind === 'unlisted') {
            const verdict = { kind: 'rejected', status, detail: '' } as const;
            const review = refusals.review(doubted, verdict, { latestBegun: number });
            const mine = log.filter((entry) => entry.command === command && !entry.isListed);
            const run = mine.slice(mine.findLastIndex((entry) => entry.status !== status) + 1);
            const [first] = run;
            const proof = log.some((it) => it.isListed && first && it.number > first.number);
            expect(review === 'at-fault').toBe(proof);
            if (review === 'at-fault') commands.delete(command);
            log.push({ number, command, status, isListed: false });
            if (review === 'at-fault') {
              // another message of the machine follows
              for (const entry of log)
                if (entry.command === command && !entry.isListed) entry.command = -1;
            }
          } else {
            refusals.answered(call, kind === 'applied');
            log.push({ number, command: -1, status, isListed: true });
          }
        }
      }),
    );
  });

  it('counts by an empty call for three commands, and for others after one has been applied', () => {
    const refusals = new UnlistedRefusals();
    let number = 0;
    const call = () => ({ number: (number += 1), latestApplied: 0, startedMs: 0 });
    const verdict = { kind: 'rejected', status: 404, detail: '' } as const;
    const review = (doubted: Doubted) =>
      refusals.review(doubted, verdict, { latestBegun: call().number });
    const bring = (): string[] => {
      const doubted: Doubted = { unlisted: undefined };
      const reviews = [review(doubted), review(doubted)];
      refusals.emptyAnswered(call());
      return [...reviews, review(doubted)];
    };
    const asked = ['open', 'ask', 'at-fault'];
    for (let time = 0; time < 3; time += 1) expect(bring()).toEqual(asked);
    expect(bring()).toEqual(['open', 'open', 'open']);
    refusals.answered(call(), false);
    expect(bring()).toEqual(['open', 'open', 'open']);
    refusals.answered(call(), true);
    expect(bring()).toEqual(asked);
  });
});
