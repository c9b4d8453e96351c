import fc from 'fast-check';
import { type Verdict } from '#libs/delivery';
import { Forbidden, RefusalInCompany } from './forbidden.js';
import { type FlowCalls, type StartedCall } from './flow-status.js';

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
  let command: Forbidden;

  beforeEach(() => {
    calls = new Calls();
    command = new Forbidden('M-1');
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

  it('is not at fault while nobody gets through: the token is', () => {
    for (let time = 0; time < 10; time += 1) expect(refused()).toBe(forbidden);
  });

  it('is not at fault for what began before the token lost its right, however late that ends well', () => {
    const others = Array.from({ length: 10 }, () => calls.begin());
    expect(refused()).toBe(forbidden);
    for (const other of others) {
      calls.goesWell(other);
      expect(refused()).toBe(forbidden);
    }
  });

  it('is not at fault for what began beside the call that is refused first', () => {
    const call = calls.begin();
    const other = calls.begin();
    expect(refused(call)).toBe(forbidden);
    calls.goesWell(other);
    for (let time = 0; time < 10; time += 1) expect(refused()).toBe(forbidden);
  });

  it('is not at fault before it has been tried with a token that is known to work', () => {
    refused();
    const call = calls.begin();
    otherGetsThrough();
    expect(refused(call)).toBe(forbidden);
    expect(refused()).toMatchObject(atFault);
  });

  it('is at fault as soon as others get through again', () => {
    for (let time = 0; time < 10; time += 1) refused();
    otherGetsThrough();
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

  describe('in company first', () => {
    const ids = ['M-1', 'M-2', 'M-3'];
    let others: Forbidden[];
    let alone: StartedCall[];

    beforeEach(() => {
      others = [new Forbidden('M-2'), new Forbidden('M-3')];
      const refusal = new RefusalInCompany(ids, calls.latestBegun);
      for (const each of [command, ...others]) each.refusedInCompany(refusal);
      // they part, and are called side by side
      alone = [1, 2, 3].map(() => calls.begin());
    });

    const goesWell = (index: number): void => {
      others[index]!.wentWell();
      calls.goesWell(alone[index + 1]!);
    };

    it('is at fault when all others of that company go well, though nobody else calls any more', () => {
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
        const machines = new Map<StartedCall, { machine: Forbidden; mayStill: boolean }>();
        const waiting: Forbidden[] = [];
        steps.forEach(({ ends, which }, step) => {
          const mayStill = step < lostAt;
          const [call, it] = [...machines][which % Math.max(1, machines.size)] ?? [];
          if (!ends || call === undefined || it === undefined) {
            machines.set(calls.begin(), {
              machine: waiting.shift() ?? new Forbidden('M-1'),
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
