import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import fc from 'fast-check';
import { Breaker, type CallFailure, FlowStatus } from './flow-status.js';

describe('the log of a flow', () => {
  let nowMs: number;
  let status: FlowStatus;
  let lines: unknown[];

  beforeEach(() => {
    [nowMs, lines] = [1000, []];
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    jest.spyOn(Math, 'random').mockReturnValue(0);
    for (const level of ['warn', 'log'] as const) {
      jest.spyOn(Logger.prototype, level).mockImplementation((line) => void lines.push(line));
    }
    status = new FlowStatus('work-orders', { isHeld: false }, () => false);
  });

  const goesWell = (): boolean => {
    nowMs += 1;
    return status.noteSuccess(nowMs);
  };

  it('says once for each pause that it begins and that it ends', () => {
    for (const machineId of 'abcdefgh') status.noteFailure(failureOf(machineId));
    nowMs += 200;
    expect(status.breaker.beginCall()).toBe(true);
    status.noteFailure(failureOf('i'));
    for (let call = 0; call < 3; call += 1) goesWell();
    const flow = 'work-orders';
    status.noteFailure(failureOf('a', { cause: 'token-refused' }));
    goesWell();
    expect(lines).toEqual([
      { msg: 'flow paused, probing', flow, why: '503', cause: 'service', machineId: 'e' },
      { msg: 'flow moves again', flow },
      { msg: 'flow paused, probing', flow, why: '503', cause: 'token-refused', machineId: 'a' },
      { msg: 'flow moves again', flow },
    ]);
  });

  it('says why when all commands wait for a Retry-After and none fails any more', () => {
    jest.useFakeTimers({ doNotFake: ['performance'] });
    const stuck = new FlowStatus('work-orders', { isHeld: false }, () => true);
    for (const machineId of 'ab') stuck.noteFailure(failureOf(machineId, { retryAfterMs: 60_000 }));
    nowMs += 5000;
    jest.advanceTimersByTime(1000);
    jest.useRealTimers();
    const [flow, cause] = ['work-orders', 'service'];
    expect(lines).toEqual([
      { msg: 'flow paused, probing', flow, why: '503', cause, machineId: 'b' },
    ]);
  });
});

const longest = (): number => 1;
const shortest = (): number => 0;

function failureOf(machineId: string, more: Partial<CallFailure> = {}): CallFailure {
  const usual = { cause: 'service' as const, why: '503', retryAfterMs: 0 };
  return { machineId, busyMachines: 3, isShared: false, isProbe: false, ...usual, ...more };
}

function failedProbe(machineId: string, more: Partial<CallFailure> = {}): CallFailure {
  return failureOf(machineId, { isProbe: true, ...more });
}

function failAll(breaker: Breaker, machineIds: string, nowMs = 0): boolean[] {
  return Array.from(machineIds, (machineId) => breaker.recordFailure(failureOf(machineId), nowMs));
}

function openBreaker(random: () => number): Breaker {
  const breaker = new Breaker(random);
  failAll(breaker, 'abcde', 1000);
  return breaker;
}

/** Begins the next probe when it is due; returns that time. */
function probe(breaker: Breaker): number {
  const atMs = breaker.nextProbeMs!;
  expect(breaker.admitsCallAt(atMs - 1)).toBe(false);
  expect(breaker.admitsCallAt(atMs)).toBe(true);
  breaker.beginCall();
  return atMs;
}

describe('with many machines that have commands', () => {
  const failTimes = (breaker: Breaker, times: number, busyMachines: number): boolean[] =>
    Array.from({ length: times }, (_, index) =>
      breaker.recordFailure(failureOf(`M-${index}`, { busyMachines }), 0),
    );

  it.each([
    [3, 5],
    [40, 40],
    [10_000, 64],
  ])('%i of them: opens when %i calls have failed in a row', (busyMachines, calls) => {
    const opened = failTimes(new Breaker(), calls, busyMachines);
    expect(opened.indexOf(true)).toBe(calls - 1);
  });
});

const LEAST_WAIT_MS = 200;
/** The longest Retry-After here, which is longer than the breaker's longest wait. */
const LONGEST_WAIT_MS = 30_000;

type Step =
  | { kind: 'call' | 'goes well' | 'is void' }
  | { kind: 'wait'; ms: number }
  | { kind: 'fails'; failure: CallFailure };

const failures: fc.Arbitrary<CallFailure> = fc.record({
  isProbe: fc.constant(false),
  machineId: fc.constantFrom('a', 'b', 'c'),
  busyMachines: fc.constant(3),
  isShared: fc.boolean(),
  cause: fc.constantFrom('service', 'forbidden', 'token-refused'),
  why: fc.constant('503'),
  retryAfterMs: fc.constantFrom(0, 0, 300, LONGEST_WAIT_MS),
});

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('call' as const) }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(6000) }) },
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('fails' as const), failure: failures }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constantFrom('goes well' as const, 'is void' as const) }),
    },
  ),
  { maxLength: 100 },
);
const randoms = fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }));

/** A flow that calls whenever the breaker admits it; the test ends its calls. */
class Flow {
  nowMs = 0;
  /** For each call under way, whether it is a probe, and when it began. */
  readonly underWay: { isProbe: boolean; startedMs: number }[] = [];
  readonly breaker: Breaker;
  readonly violations: string[] = [];
  /** When a call was last admitted or the breaker opened; undefined if another may follow at once. */
  private lastMs: number | undefined;

  constructor(random: Iterator<number>) {
    this.breaker = new Breaker(() => random.next().value as number);
  }

  get isOpen(): boolean {
    return this.breaker.openBecause !== undefined;
  }

  call(): boolean {
    if (!this.breaker.admitsCallAt(this.nowMs)) return false;
    if (this.isOpen && this.lastMs !== undefined) {
      this.check(this.nowMs - this.lastMs >= LEAST_WAIT_MS, 'a call too soon');
    }
    this.lastMs = this.nowMs;
    this.underWay.push({ isProbe: this.breaker.beginCall(), startedMs: this.nowMs });
    this.check(this.breaker.admitsCallAt(this.nowMs) !== this.isOpen, 'two probes at a time');
    return true;
  }

  take(step: Step): void {
    if (step.kind === 'wait') this.nowMs += step.ms;
    else if (step.kind === 'call') this.call();
    else this.end(step);
  }

  private check(isSo: boolean, violation: string): void {
    if (!isSo) this.violations.push(violation);
  }

  private end(step: Exclude<Step, { kind: 'wait' }>): void {
    const wasOpen = this.isOpen;
    const ended = this.underWay.shift();
    if (ended === undefined) return;
    const { isProbe, startedMs } = ended;
    if (step.kind === 'fails') {
      const failure = { ...step.failure, isProbe };
      const opened = this.breaker.recordFailure(failure, this.nowMs);
      this.check(opened === (!wasOpen && this.isOpen), 'an opening that is not returned');
      if (!wasOpen) this.lastMs = this.nowMs;
    } else if (step.kind === 'goes well') {
      const closed = this.breaker.recordSuccess(startedMs);
      this.check(closed === (wasOpen && !this.isOpen), 'a closing that is not returned');
      this.check(!isProbe || !this.isOpen, 'open after a probe that went well');
    } else if (isProbe) {
      this.breaker.voidProbe();
      this.lastMs = undefined;
    }
  }
}

describe('Breaker', () => {
  it('opens with the fifth failure in a row of several machines, and returns that once', () => {
    const breaker = new Breaker();
    expect(failAll(breaker, 'abab')).toEqual([false, false, false, false]);
    expect(breaker.admitsCallAt(0)).toBe(true);
    expect(breaker.recordFailure(failureOf('a', { why: 'connection refused' }), 0)).toBe(true);
    expect(breaker.openBecause).toBe('connection refused');
    expect(breaker.admitsCallAt(0)).toBe(false);
    expect(breaker.recordFailure(failureOf('b', { why: 'timeout' }), 0)).toBe(false);
    expect(breaker.openBecause).toBe('timeout');
  });

  it('forgets the failed machines after a call that went well', () => {
    const breaker = new Breaker();
    failAll(breaker, 'abab');
    breaker.recordSuccess();
    expect(failAll(breaker, 'bbbbbbbb')).not.toContain(true);
    breaker.recordSuccess();
    expect(failAll(breaker, 'cccccccc')).not.toContain(true);
  });

  it('does not treat a single failure as a standstill, however long no call was made before', () => {
    const breaker = new Breaker();
    breaker.recordFailure(failureOf('a'), 0);
    breaker.recordSuccess();
    expect(breaker.recordFailure(failureOf('a'), 60_000)).toBe(false);
    expect(breaker.recordFailure(failureOf('a'), 64_999)).toBe(false);
    expect(breaker.recordFailure(failureOf('a'), 65_000)).toBe(true);
  });

  it('waits longer after each probe that fails, up to a cap', () => {
    const breaker = openBreaker(longest);
    const waits = [1, 2, 3, 4, 5, 6].map(() => {
      const atMs = probe(breaker);
      expect(breaker.recordFailure(failedProbe('a'), atMs)).toBe(false);
      return breaker.nextProbeMs! - atMs;
    });
    expect(waits).toEqual([1000, 2000, 4000, 5000, 5000, 5000]);
  });

  it('tries the others as usual while a single machine has a Retry-After, although they have failed', () => {
    const breaker = openBreaker(shortest);
    breaker.recordFailure(failureOf('bad', { retryAfterMs: 25_000 }), 1100);
    expect(breaker.nextProbeMs).toBe(1200);
    breaker.recordFailure(failedProbe('bad', { retryAfterMs: 25_000 }), probe(breaker));
    expect(breaker.nextProbeMs).toBe(1400);
    breaker.recordFailure(failedProbe('a', { retryAfterMs: 25_000 }), probe(breaker));
    expect(breaker.nextProbeMs).toBe(26_400);
  });

  it('closes with the first call that goes well, and begins with short waits when it opens again', () => {
    const breaker = openBreaker(longest);
    breaker.recordFailure(failedProbe('a'), probe(breaker));
    probe(breaker);
    expect(breaker.recordSuccess()).toBe(true);
    expect(breaker.openBecause).toBeUndefined();
    expect(breaker.admitsCallAt(0)).toBe(true);
    expect(failAll(breaker, 'abab', 50_000)).not.toContain(true);
    failAll(breaker, 'a', 50_000);
    expect(breaker.nextProbeMs).toBe(50_500);
  });

  it('closes with a call that began after the first failure, before the breaker opened', () => {
    const breaker = openBreaker(longest);
    expect(breaker.recordSuccess(1001)).toBe(true);
    expect(breaker.admitsCallAt(1000)).toBe(true);
  });

  it('does not delay the probe for failures of calls that began before it opened', () => {
    const breaker = openBreaker(longest);
    failAll(breaker, 'fghij', 1400);
    expect(breaker.nextProbeMs).toBe(1500);
    breaker.recordFailure(failedProbe('a'), probe(breaker));
    expect(breaker.nextProbeMs).toBe(2500);
  });

  it('admits few calls while open, closes with one success, and never gets stuck', () => {
    fc.assert(
      fc.property(steps, randoms, (all, random) => {
        const flow = new Flow(random);
        for (const it of all) flow.take(it);
        while (flow.underWay.length > 0) flow.take({ kind: 'fails', failure: failureOf('a') });
        const dueMs = flow.breaker.nextProbeMs ?? flow.nowMs;
        expect(dueMs - flow.nowMs).toBeLessThanOrEqual(LONGEST_WAIT_MS);
        flow.nowMs = Math.max(flow.nowMs, dueMs);
        expect(flow.call()).toBe(true);
        flow.take({ kind: 'goes well' });
        expect([flow.isOpen, flow.violations]).toEqual([false, []]);
      }),
    );
  });

  it('never opens for one machine that fails while others get through', () => {
    const gaps = fc.array(fc.tuple(fc.nat(20), fc.nat(4900)), { maxLength: 20 });
    fc.assert(
      fc.property(gaps, (rounds) => {
        const breaker = new Breaker();
        const changes: boolean[] = [];
        let nowMs = 0;
        for (const [failures, gapMs] of rounds) {
          for (let count = 0; count <= failures; count += 1) {
            nowMs += gapMs / (failures + 1);
            changes.push(breaker.recordFailure(failureOf('broken'), nowMs));
          }
          changes.push(breaker.recordSuccess());
        }
        expect(changes).not.toContain(true);
      }),
    );
  });
});
