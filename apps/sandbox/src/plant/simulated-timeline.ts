import type { Shift, ShiftCalendar } from '#libs/clock';
import type { MachineState } from '#libs/contracts';
import { seededRandom } from './seeded-random.js';
import type { Segment, Timeline } from './timeline.js';
import { prevailingState, type SignalPiece } from './prevailing-state.js';

const PLANS_REMEMBERED = 4;

/**
 * A simulated timeline. Each shift is generated from (seed, machine, start of the shift), so that any minute can be
 * computed without the earlier ones and is always the same.
 */
export class SimulatedTimeline implements Timeline {
  private recentPlans: Segment[][] = [];

  constructor(
    private readonly calendar: ShiftCalendar,
    private readonly pattern: ShiftPattern,
    private readonly key: { seed: string; machineIndex: number },
  ) {}

  segmentAt(minute: number): Segment {
    const plan =
      this.recentPlans.find((recent) => findSegment(recent, minute)) ?? this.generatePlan(minute);
    const segment = findSegment(plan, minute);
    if (!segment) throw new RangeError(`the plan of the shift does not cover minute ${minute}`);
    return segment;
  }

  private generatePlan(minute: number): Segment[] {
    const shift = this.calendar.shiftAt(minute * 60);
    const random = seededRandom(this.key.seed, this.key.machineIndex, shift.startTime);
    const plan = planShift(shift, this.pattern, random);
    this.recentPlans = [plan, ...this.recentPlans.slice(0, PLANS_REMEMBERED - 1)];
    return plan;
  }
}

function findSegment(plan: readonly Segment[], minute: number): Segment | undefined {
  const last = plan.at(-1);
  if (!last || minute >= last.toMinute || minute < (plan[0]?.fromMinute ?? Infinity)) return;
  return plan.find((segment) => minute < segment.toMinute);
}

/** The shifts in which a machine is manned. */
interface ShiftPattern {
  shifts: number;
  weekends: boolean;
}

/**
 * The states of a machine during one shift, generated from `random`. Unmanned it is OFF. Manned it runs for minutes to
 * hours (OPERATING), waits for minutes (IDLE), and sometimes is switched off for repair (OFF).
 */
function planShift(shift: Shift, pattern: ShiftPattern, random: () => number): Segment[] {
  const fromMinute = Math.floor(shift.startTime / 60);
  const toMinute = Math.floor(shift.endTime / 60);
  if (!isManned(shift, pattern)) return [{ fromMinute, toMinute, state: 'OFF' }];
  const segments: Segment[] = [];
  let state: MachineState = random() < 0.5 ? 'IDLE' : 'OPERATING';
  for (let minute = fromMinute; minute < toMinute;) {
    const end = Math.min(minute + durationOf(state, random), toMinute);
    segments.push({ fromMinute: minute, toMinute: end, state });
    state = nextState(state, random);
    minute = end;
  }
  return segments;
}

function isManned(shift: Shift, pattern: ShiftPattern): boolean {
  const isWeekend = shift.weekday === 0 || shift.weekday === 6;
  return shift.index < pattern.shifts && (pattern.weekends || !isWeekend);
}

function nextState(state: MachineState, random: () => number): MachineState {
  switch (state) {
    case 'OPERATING':
      return random() < 0.93 ? 'IDLE' : 'OFF';
    case 'IDLE':
      return 'OPERATING';
    case 'OFF':
      return 'IDLE';
    default:
      return state satisfies never;
  }
}

function durationOf(state: MachineState, random: () => number): number {
  switch (state) {
    case 'OPERATING':
      return between(6, 180, random());
    case 'IDLE':
      return between(2, 25, random());
    case 'OFF':
      return between(20, 90, random());
    default:
      return state satisfies never;
  }
}

/** Whole minutes, uniform on a logarithmic scale, so that short spans are more frequent. */
function between(shortest: number, longest: number, draw: number): number {
  return Math.round(shortest * (longest / shortest) ** draw);
}

/**
 * A machine whose signal changes several times a minute while it runs: short stops of 5 to 25 seconds. Each minute has
 * its prevailing state.
 */
export class FlickeringTimeline implements Timeline {
  constructor(
    private readonly base: Timeline,
    private readonly key: { seed: string; machineIndex: number },
  ) {}

  segmentAt(minute: number): Segment {
    const segment = this.base.segmentAt(minute);
    if (segment.state !== 'OPERATING') return segment;
    const state = prevailingState(this.signalOf(minute));
    return { fromMinute: minute, toMinute: minute + 1, state };
  }

  /** The signal within one minute, in pieces of 60 seconds in total. */
  private signalOf(minute: number): SignalPiece[] {
    const random = seededRandom(this.key.seed, this.key.machineIndex, 'signal', minute);
    const pieces: SignalPiece[] = [];
    let state: MachineState = random() < 0.5 ? 'OPERATING' : 'IDLE';
    for (let left = 60; left > 0;) {
      const seconds = Math.min(left, 5 + Math.floor(random() * 21));
      pieces.push({ state, seconds });
      state = state === 'OPERATING' ? 'IDLE' : 'OPERATING';
      left -= seconds;
    }
    return pieces;
  }
}
