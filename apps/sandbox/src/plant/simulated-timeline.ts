import { planShift, type ShiftPattern } from './plan-shift.js';
import { seededRandom } from './seeded-random.js';
import type { ShiftCalendar } from '#libs/clock';
import type { Segment, Timeline } from './timeline.js';

const PLANS_REMEMBERED = 4;

/**
 * A machine's simulated life. Every shift is drawn on its own from (seed, machine, start of the
 * shift): any moment is computed without the ones before it and comes out the same each time.
 */
export class SimulatedTimeline implements Timeline {
  private recentPlans: Segment[][] = [];

  constructor(
    private readonly calendar: ShiftCalendar,
    private readonly pattern: ShiftPattern,
    private readonly key: { seed: string; machineIndex: number },
  ) {}

  segmentAt(minute: number): Segment {
    const plan = this.recentPlans.find((recent) => find(recent, minute)) ?? this.draw(minute);
    const segment = find(plan, minute);
    if (!segment) throw new RangeError(`the plan of the shift does not cover minute ${minute}`);
    return segment;
  }

  private draw(minute: number): Segment[] {
    const shift = this.calendar.shiftAt(minute * 60);
    const random = seededRandom(this.key.seed, this.key.machineIndex, shift.startTime);
    const plan = planShift(shift, this.pattern, random);
    this.recentPlans = [plan, ...this.recentPlans.slice(0, PLANS_REMEMBERED - 1)];
    return plan;
  }
}

function find(plan: readonly Segment[], minute: number): Segment | undefined {
  const last = plan.at(-1);
  if (!last || minute >= last.toMinute || minute < (plan[0]?.fromMinute ?? Infinity)) return;
  return plan.find((segment) => minute < segment.toMinute);
}
