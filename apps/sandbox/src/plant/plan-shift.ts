import type { MachineState } from './machine-state.js';
import type { Shift } from '#libs/clock';
import type { Segment } from './timeline.js';

/** Which shifts a machine is manned in. */
export interface ShiftPattern {
  shifts: number;
  weekends: boolean;
}

/**
 * A machine's life during one shift, drawn from `random`. Unmanned it is OFF; manned it is set up,
 * runs for minutes to hours (OPERATING), waits for minutes (IDLE) and now and then is switched off
 * for repair (OFF).
 */
export function planShift(shift: Shift, pattern: ShiftPattern, random: () => number): Segment[] {
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

/** Whole minutes, short spans likelier than long ones (uniform on a logarithmic scale). */
function between(shortest: number, longest: number, draw: number): number {
  return Math.round(shortest * (longest / shortest) ** draw);
}
