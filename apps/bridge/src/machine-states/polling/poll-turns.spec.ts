import fc from 'fast-check';
import { DueQueue } from '#libs/delivery';
import { PollPlan, PollQueue, type PollTurn, PollTurns } from './poll-turns.js';

const INTERVAL_MS = 60_000;
const STALE_AFTER_MS = 300_000;
const T0_MS = 1_763_680_020_000;
const TIMEOUT_MS = 10_000;
const SLOTS = 64;

interface Machine {
  updatedAt: number | null;
  answers: boolean;
  /** Start times of its polls. */
  polledMs: number[];
}

/** Runs queue and turns for this time, in no real time; machines that do not answer hang. */
function pollFor(
  machines: readonly Machine[],
  durationMs: number,
  latencyMs: () => number,
  random: () => number,
): void {
  const queue = new PollQueue<Machine>(SLOTS, STALE_AFTER_MS);
  const turns = new PollTurns<Machine>(INTERVAL_MS, STALE_AFTER_MS, 1, random);
  const calls = new DueQueue<PollTurn<Machine>>();
  for (const turn of turns.firstTurns(machines, 0, 0)) queue.addTurn(turn);
  let underWay = 0;
  let mostUnderWay = 0;
  for (let nowMs = 0; nowMs < durationMs;) {
    for (let turn = queue.takeTurn(nowMs, false); turn; turn = queue.takeTurn(nowMs, false)) {
      turn.polled.polledMs.push(nowMs);
      calls.addItem(nowMs + (turn.polled.answers ? latencyMs() : TIMEOUT_MS), turn);
      underWay += 1;
    }
    mostUnderWay = Math.max(mostUnderWay, underWay);
    nowMs = Math.min(queue.nextMs, calls.earliestMs);
    while (calls.earliestMs <= nowMs) {
      const turn = calls.takeEarliest()!;
      underWay -= 1;
      queue.releaseSlot(turn);
      const { answers, polledMs } = turn.polled;
      if (answers) turn.failingSinceMs = undefined;
      const tookMs = nowMs - polledMs.at(-1)!;
      const restMs = answers ? 0 : turns.restAfterFailureMs(turn, nowMs, tookMs);
      turns.moveToNext(turn, nowMs + restMs, 0);
      queue.addTurn(turn);
    }
  }
  expect(mostUnderWay).toBeLessThanOrEqual(SLOTS);
}

/** Times between two polls, from `fromMs` on. */
function longestBetweenPolls(machines: readonly Machine[], fromMs: number): number {
  const gaps = machines.flatMap(({ polledMs }) =>
    polledMs.slice(1).flatMap((atMs, index) => (atMs < fromMs ? [] : [atMs - polledMs[index]!])),
  );
  return Math.max(...gaps);
}

const fleet = (count: number, answers: boolean, updatedAt: number | null): Machine[] =>
  Array.from({ length: count }, () => ({ updatedAt, answers, polledMs: [] }));

describe('PollQueue', () => {
  it('polls machines that answer in time, however many hang', () => {
    const sizes = fc.record({ healthy: fc.integer({ min: 1, max: 600 }), hanging: fc.nat(1500) });
    fc.assert(
      fc.property(sizes, fc.nat(59), fc.infiniteStream(fc.nat(1e6)), (size, second, numbers) => {
        const random = (): number => (numbers.next().value as number) / (1e6 + 1);
        const healthy = fleet(size.healthy, true, second);
        const hanging = fleet(size.hanging, false, second);
        pollFor([...hanging, ...healthy], 900_000, () => 20 + 180 * random(), random);
        // Until it is known which machines hang, they delay the others.
        const foundOutMs = Math.ceil(size.hanging / SLOTS) * TIMEOUT_MS + 2 * INTERVAL_MS;
        expect(longestBetweenPolls(healthy, foundOutMs)).toBeLessThanOrEqual(INTERVAL_MS + 5000);
      }),
      { numRuns: 8 },
    );
  });

  it('polls 600 of 1,000 machines in time from the first poll on, while 400 hang', () => {
    const healthy = fleet(600, true, 0);
    const hanging = fleet(400, false, 0);
    pollFor([...hanging, ...healthy], 3_600_000, () => 100, Math.random);
    expect(longestBetweenPolls(healthy, 0)).toBeLessThanOrEqual(INTERVAL_MS + 20_000);
    expect(longestBetweenPolls(healthy, 180_000)).toBeLessThanOrEqual(INTERVAL_MS + 2000);
    // a quarter of the slots is enough to try each of them every few minutes
    expect(longestBetweenPolls(hanging, 600_000)).toBeLessThanOrEqual(6 * INTERVAL_MS);
    const polls = hanging.reduce((sum, { polledMs }) => sum + polledMs.length, 0);
    expect(polls / hanging.length).toBeLessThan(16);
  });

  it('spreads machines whose first polls, close together, were not answered', () => {
    const machines = fleet(600, false, null);
    const turns = new PollTurns<Machine>(INTERVAL_MS, STALE_AFTER_MS, 1);
    const atMs = turns.firstTurns(machines, 0, 0).map((turn) => {
      expect(turn.dueMs).toBeLessThanOrEqual(3000);
      turns.moveToNext(turn, turn.dueMs, 0);
      return turn.dueMs;
    });
    const seconds = new Set(atMs.map((ms) => Math.floor((ms % INTERVAL_MS) / 1000)));
    expect(seconds.size).toBeGreaterThan(50);
  });

  it('prefers machines that have failed recently to those that are lost', () => {
    const queue = new PollQueue<string>(4, STALE_AFTER_MS);
    const turnOf = (polled: string, dueMs: number, failingSinceMs?: number): PollTurn<string> => ({
      polled,
      place: undefined,
      dueMs,
      failingSinceMs,
    });
    const lost = turnOf('lost', 500_000, 0);
    const failing = turnOf('failing', 590_000, 530_000);
    const answering = turnOf('answering', 595_000);
    for (const turn of [lost, failing, answering]) queue.addTurn(turn);
    const taken = [queue.takeTurn(600_000, false), queue.takeTurn(600_000, false)];
    expect(taken).toEqual([answering, failing]);
    expect(queue.takeTurn(600_000, false)).toBeUndefined();
    queue.releaseSlot(failing);
    expect(queue.takeTurn(600_000, false)).toBe(lost);
  });

  it('polls a lost machine that hangs in every fourth interval, even if slots are free', () => {
    const hour = 60 * INTERVAL_MS;
    const hanging = fleet(3, false, 30);
    pollFor(hanging, 2 * hour, () => 50, Math.random);
    for (const { polledMs } of hanging) {
      const later = polledMs.filter((ms) => ms >= hour);
      expect(later.length).toBeGreaterThanOrEqual(14);
      expect(later.length).toBeLessThanOrEqual(16);
    }
  });

  it('makes all passed-over turns due again when they are made up', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(60_000), { maxLength: 40 }), (times) => {
        const queue = new PollQueue<number>(SLOTS, STALE_AFTER_MS);
        const turns = times.map((dueMs, polled) => {
          return { polled, place: undefined, dueMs, failingSinceMs: undefined };
        });
        for (const turn of turns) queue.passOver(turn, 120_000);
        expect(queue.takeTurn(119_999, false)).toBeUndefined();
        queue.requeuePassedOver();
        expect(queue.hasPassedOver).toBe(false);
        const made = turns.map(() => queue.takeTurn(60_000, false)?.dueMs);
        expect(made).toEqual(times.sort((one, other) => one - other));
      }),
    );
  });
});

describe('PollTurns', () => {
  it.each([null, 30])(
    'mixes machines of factories that are listed in succession: updated at %p',
    (updatedAt) => {
      const turns = new PollTurns<Machine>(INTERVAL_MS, STALE_AFTER_MS, 1);
      const [first, second] = [fleet(300, true, updatedAt), fleet(300, false, updatedAt)];
      const inOrder = turns
        .firstTurns([...first, ...second], 0, 0)
        .toSorted((one, other) => one.dueMs - other.dueMs)
        .map(({ polled }) => polled.answers);
      // Half of either, give or take a few at random; unmixed it is all or nothing.
      const ofFirst = inOrder.slice(0, 300).filter(Boolean).length;
      expect(Math.abs(ofFirst - 150)).toBeLessThan(75);
    },
  );
});

describe('PollPlan', () => {
  it('polls a machine right after its own update', () => {
    const plan = new PollPlan(INTERVAL_MS, 50);
    fc.assert(
      fc.property(fc.nat(INTERVAL_MS - 1), (phase) => {
        const updatedMs = T0_MS + phase;
        const place = plan.takePlace(updatedMs);
        const waitMs = plan.nextTimeMs(place, updatedMs) - updatedMs;
        plan.leavePlace(place);
        expect(waitMs).toBeGreaterThan(0);
        expect(waitMs).toBeLessThanOrEqual(2000);
      }),
    );
  });

  it('recurs once an interval', () => {
    const plan = new PollPlan(INTERVAL_MS, 50);
    fc.assert(
      fc.property(fc.nat(1e12), fc.nat(1e12), (updatedMs, nowMs) => {
        const place = plan.takePlace(updatedMs);
        plan.leavePlace(place);
        const first = plan.nextTimeMs(place, nowMs);
        expect(first).toBeGreaterThan(nowMs);
        expect(first).toBeLessThanOrEqual(nowMs + INTERVAL_MS);
        expect(plan.nextTimeMs(place, first)).toBe(first + INTERVAL_MS);
      }),
    );
  });

  it('spreads machines that are all updated at the same moment over the interval', () => {
    const plan = new PollPlan(INTERVAL_MS, 50);
    const perSecond = new Array<number>(60).fill(0);
    for (let count = 0; count < 60_000; count += 1) {
      const second = Math.floor(plan.takePlace(T0_MS).phaseMs / 1000);
      perSecond[second] = (perSecond[second] ?? 0) + 1;
    }
    expect(Math.max(...perSecond)).toBeLessThanOrEqual(1200);
  });

  it('spreads them within a second as well', () => {
    const plan = new PollPlan(INTERVAL_MS, 50);
    const phases = Array.from({ length: 50 }, () => plan.takePlace(T0_MS).phaseMs);
    expect(new Set(phases).size).toBe(50);
    expect(new Set(phases.map((phase) => Math.floor(phase / 1000))).size).toBe(1);
  });

  it('gives the place of a machine that has ended to another', () => {
    const plan = new PollPlan(INTERVAL_MS, 1);
    const first = plan.takePlace(T0_MS);
    expect(plan.takePlace(T0_MS).slot).toBe(first.slot + 1);
    plan.leavePlace(first);
    expect(plan.takePlace(T0_MS).slot).toBe(first.slot);
  });

  it('moves a machine only when its update has moved', () => {
    const plan = new PollPlan(INTERVAL_MS, 50);
    const place = plan.takePlace(T0_MS);
    expect(plan.isWellPlaced(place, T0_MS + INTERVAL_MS)).toBe(true);
    expect(plan.isWellPlaced(place, T0_MS - 2000)).toBe(true);
    expect(plan.isWellPlaced(place, T0_MS + 2000)).toBe(true);
    expect(plan.isWellPlaced(place, T0_MS + 10_000)).toBe(false);
    expect(plan.isWellPlaced(place, T0_MS - 10_000)).toBe(false);
  });
});
