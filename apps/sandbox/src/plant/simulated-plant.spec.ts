import fc from 'fast-check';
import { ShiftCalendar } from '#libs/clock';
import { SimulatedTimeline } from './simulated-timeline.js';
import { type MinuteState, periodsBetween, startOfPeriod, type Timeline } from './timeline.js';
import { simulateMachines } from './simulate-machines.js';

const calendar = new ShiftCalendar({ timeZone: 'UTC', startTimes: ['06:00', '14:00', '22:00'] });
const MINUTES_OF_DAY = 1440;
/** Monday, 10 November 2025, 00:00 UTC. */
const MONDAY = 1_762_732_800 / 60;

const aroundTheClock = (seed: string, machineIndex = 0) =>
  new SimulatedTimeline(calendar, { shifts: 3, weekends: true }, { seed, machineIndex });
const dayShift = (seed: string) =>
  new SimulatedTimeline(calendar, { shifts: 1, weekends: false }, { seed, machineIndex: 1 });

function statesOf(timeline: Timeline, from: number, to: number): MinuteState[] {
  return Array.from({ length: to - from }, (_, at) => timeline.segmentAt(from + at).state);
}

describe('the simulated plant', () => {
  const seeds = fc.string({ maxLength: 12 });
  const minutes = fc.integer({ min: 0, max: 60_000_000 });

  it('has the same states for the same seed and machine, in any order of access', () => {
    fc.assert(
      fc.property(seeds, fc.array(minutes, { maxLength: 20 }), (seed, asked) => {
        const one = aroundTheClock(seed);
        const forwards = asked.map((minute) => one.segmentAt(minute));
        const backwards = asked
          .toReversed()
          .map((minute) => aroundTheClock(seed).segmentAt(minute));
        expect(backwards.toReversed()).toEqual(forwards);
      }),
    );
  });

  it('covers every minute with a segment that contains it', () => {
    fc.assert(
      fc.property(seeds, minutes, (seed, minute) => {
        const segment = dayShift(seed).segmentAt(minute);
        expect(segment.fromMinute).toBeLessThanOrEqual(minute);
        expect(segment.toMinute).toBeGreaterThan(minute);
        expect(segment.state).not.toBeNull();
      }),
    );
  });

  it('has periods without gaps, each with another state than the previous one', () => {
    fc.assert(
      fc.property(seeds, minutes, (seed, from) => {
        const periods = periodsBetween(aroundTheClock(seed), from, from + 2 * MINUTES_OF_DAY);
        const wrong = periods.slice(1).filter((period, index) => {
          const { toMinute, state } = periods[index]!;
          return period.fromMinute !== toMinute || period.state === state;
        });
        expect(wrong).toEqual([]);
        expect(periods[0]!.fromMinute).toBe(from);
        expect(periods.at(-1)!.toMinute).toBe(from + 2 * MINUTES_OF_DAY);
      }),
      { numRuns: 30 },
    );
  });

  it('has different states for another seed or another machine', () => {
    const week = (timeline: Timeline) => statesOf(timeline, MONDAY, MONDAY + 7 * MINUTES_OF_DAY);
    expect(week(aroundTheClock('a'))).not.toEqual(week(aroundTheClock('b')));
    expect(week(aroundTheClock('a', 1))).not.toEqual(week(aroundTheClock('a', 2)));
  });

  it('runs for most of its manned time and stands still for minutes', () => {
    const periods = periodsBetween(aroundTheClock('x'), MONDAY, MONDAY + 28 * MINUTES_OF_DAY);
    const lengths = (state: MinuteState) =>
      periods.filter((p) => p.state === state).map((p) => p.toMinute - p.fromMinute);
    const mean = (all: number[]) => all.reduce((sum, length) => sum + length, 0) / all.length;
    expect(mean(lengths('OPERATING'))).toBeGreaterThan(20);
    expect(mean(lengths('IDLE'))).toBeLessThan(20);
    expect(mean(lengths('OFF'))).toBeGreaterThan(15);
  });

  it('is OFF at night and at the weekend when it is manned only by day', () => {
    const timeline = dayShift('x');
    const saturday = MONDAY + 5 * MINUTES_OF_DAY;
    expect(new Set(statesOf(timeline, saturday, saturday + 2 * MINUTES_OF_DAY))).toEqual(
      new Set(['OFF']),
    );
    expect(startOfPeriod(timeline, saturday + 100)).toBeLessThanOrEqual(saturday - 600);
    expect(statesOf(timeline, MONDAY + 360, MONDAY + 840)).toContain('OPERATING');
  });

  it('has one machine without data, one that flickers and one without reasons', () => {
    const machines = simulateMachines({ machines: 12, seed: 's' }, calendar);
    const changes = ({ timeline }: { timeline: Timeline }) =>
      periodsBetween(timeline, MONDAY, MONDAY + MINUTES_OF_DAY).length;
    expect(machines[11]!.timeline.segmentAt(MONDAY).state).toBeNull();
    expect(changes(machines[10]!)).toBeGreaterThan(5 * changes(machines[0]!));
    expect(machines[9]!.reasons).toEqual([]);
    expect(new Set(machines.map((machine) => machine.factoryId))).toEqual(new Set(['F-1', 'F-2']));
  });

  it('has no special cases in a plant of fewer than four machines', () => {
    const machines = simulateMachines({ machines: 3, seed: 's' }, calendar);
    expect(machines.every((machine) => machine.reasons.length === 13)).toBe(true);
    expect(machines.every(({ timeline }) => timeline.segmentAt(MONDAY).state !== null)).toBe(true);
  });
});
