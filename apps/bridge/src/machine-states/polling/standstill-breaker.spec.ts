import fc from 'fast-check';
import { type AdmittedCall, StandstillBreaker } from './standstill-breaker.js';

const STANDSTILL_MS = 10_000;

/** Makes calls one after the other, each for another machine; returns the changes of the breaker. */
function failures(breaker: StandstillBreaker, count: number, fromMs: number, apartMs: number) {
  const turns: (string | undefined)[] = [];
  for (let index = 0; index < count; index += 1) {
    const nowMs = fromMs + index * apartMs;
    const call = breaker.admitCall(nowMs, false);
    turns.push(call === undefined ? 'refused' : breaker.endCall(call, 'failed', nowMs));
  }
  return turns;
}

function opened(random?: () => number): StandstillBreaker {
  const breaker = new StandstillBreaker(random);
  failures(breaker, 11, 0, 1000);
  expect(breaker.isOpen).toBe(true);
  return breaker;
}

describe('StandstillBreaker', () => {
  it('opens when machines fail and no call has been answered for ten seconds', () => {
    const turns = failures(new StandstillBreaker(), 11, 5000, 1000);
    expect(turns).toEqual([...new Array<undefined>(10).fill(undefined), 'opened']);
  });

  it.each([
    ['a thousand failures in a row as long as they do not last', 1000, 9],
    ['a few failures, however long they last', 4, 3_600_000],
  ])('stays closed for %s', (_, count, apartMs) => {
    const breaker = new StandstillBreaker();
    failures(breaker, count, 0, apartMs);
    expect(breaker.isOpen).toBe(false);
  });

  it('does not count machines that are known to fail', () => {
    const breaker = new StandstillBreaker();
    for (let nowMs = 0; nowMs < 600_000; nowMs += 100) {
      breaker.endCall(breaker.admitCall(nowMs, true)!, 'failed', nowMs);
    }
    expect(breaker.isOpen).toBe(false);
  });

  it('never opens while a call is answered at least every ten seconds', () => {
    const ends = fc.record({
      afterMs: fc.nat(3000),
      end: fc.constantFrom('failed', 'failed', 'failed', 'void' as const),
      isKnownToFail: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(ends, { maxLength: 300 }), (calls) => {
        const breaker = new StandstillBreaker();
        let nowMs = 0;
        let answeredMs = 0;
        for (const { afterMs, end, isKnownToFail } of calls) {
          if (nowMs + afterMs - answeredMs >= STANDSTILL_MS) {
            breaker.endCall(breaker.admitCall(nowMs, false)!, 'answered', nowMs);
            answeredMs = nowMs;
          }
          nowMs += afterMs;
          const call = breaker.admitCall(nowMs, isKnownToFail);
          if (call === undefined) throw new Error('no call is admitted');
          breaker.endCall(call, end, nowMs);
        }
      }),
    );
  });

  it('makes one probe at a time while it is open, five seconds apart at most', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(20), (random, probes) => {
        const breaker = opened(() => random);
        const waitsMs: number[] = [];
        const atOtherTimes: unknown[] = [];
        let nowMs = 10_000;
        for (let probe = 0; probe < probes; probe += 1) {
          const dueMs = breaker.nextProbeMs!;
          waitsMs.push(dueMs - nowMs);
          atOtherTimes.push(breaker.admitCall(dueMs - 1, false));
          const call = breaker.admitCall(dueMs, false);
          if (call === undefined) throw new Error('no probe is admitted');
          atOtherTimes.push(breaker.nextProbeMs, breaker.admitCall(dueMs + 60_000, false));
          nowMs = dueMs + 1000;
          breaker.endCall(call, 'failed', nowMs);
        }
        expect(waitsMs.filter((ms) => ms < 200 || ms > 5000)).toEqual([]);
        expect(atOtherTimes.filter((it) => it !== undefined)).toEqual([]);
      }),
    );
  });

  it('closes with the first answer to any call', () => {
    const breaker = new StandstillBreaker();
    const early = breaker.admitCall(0, false)!;
    failures(breaker, 11, 0, 1000);
    expect(breaker.endCall(early, 'answered', 12_000)).toBe('closed');
    expect(failures(breaker, 10, 12_000, 1000)).not.toContain('refused');
  });

  it('makes another probe after one that was void', () => {
    const breaker = opened();
    const nowMs = breaker.nextProbeMs!;
    breaker.endCall(breaker.admitCall(nowMs, false)!, 'void', nowMs);
    expect(breaker.admitCall(nowMs, false)).toBeDefined();
  });

  it('still waits for its probe while calls from before the pause fail', () => {
    const breaker = new StandstillBreaker();
    const early: AdmittedCall[] = [0, 1, 2].map((nowMs) => breaker.admitCall(nowMs, false)!);
    failures(breaker, 11, 0, 1000);
    const probeMs = breaker.nextProbeMs!;
    for (const call of early) breaker.endCall(call, 'failed', probeMs - 1);
    expect(breaker.nextProbeMs).toBe(probeMs);
  });
});
