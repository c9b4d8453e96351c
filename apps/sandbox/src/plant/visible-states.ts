import type { MachineState } from '#libs/contracts';
import {
  endOfPeriod,
  periodsBetween,
  type Segment,
  startOfPeriod,
  type Timeline,
} from './timeline.js';

/** A machine's current state in the service (interface, "Machine state"). */
interface VisibleState {
  machineState: MachineState;
  /** Minutes from the beginning of the state to the end of the last calculated minute. */
  durationInMinutes: number;
  /** Epoch seconds at which the last calculated minute became visible. */
  updateTime: number;
}

/** Epoch seconds, end exclusive. */
export interface StatePeriod {
  startTime: number;
  endTime: number;
  machineState: MachineState;
}

interface Observed {
  timeline: Timeline;
  /** See `PlantMachine`. */
  updatePhaseSeconds: number;
}

/**
 * The latest minute whose state is visible: minute [t, t + 60) becomes visible at t + 60 + phase, where the machine's
 * phase is 0 to 59 seconds.
 */
function lastVisibleMinute(machine: Observed, now: number): number {
  return Math.floor((now - machine.updatePhaseSeconds) / 60) - 1;
}

/** The visible state at `now` (epoch seconds), or null for "no data". */
export function visibleState(machine: Observed, now: number): VisibleState | null {
  const minute = lastVisibleMinute(machine, now);
  const { state } = machine.timeline.segmentAt(minute);
  if (state === null) return null;
  return {
    machineState: state,
    durationInMinutes: minute + 1 - startOfPeriod(machine.timeline, minute),
    updateTime: (minute + 1) * 60 + machine.updatePhaseSeconds,
  };
}

/**
 * The visible periods of a window at `now`, oldest first. With `clip`, the first and last are cut at the window's
 * edges; without it, they keep their true start and visible end. The newest ends with the last visible minute, also if
 * the state continues. Changes within the last `provisionalSeconds` are not visible: the previous state continues.
 */
export function visiblePeriods(
  { timeline, updatePhaseSeconds }: Observed,
  window: { startTime: number; endTime: number },
  { now, provisionalSeconds, clip }: { now: number; provisionalSeconds: number; clip: boolean },
): StatePeriod[] {
  if (window.endTime <= window.startTime) return [];
  const machine = { timeline, updatePhaseSeconds };
  const visibleEnd = lastVisibleMinute(machine, now) + 1;
  if (provisionalSeconds > 0) {
    const settledEnd = lastVisibleMinute(machine, now - provisionalSeconds) + 1;
    machine.timeline = unchangedFrom(timeline, settledEnd);
  }
  const fromMinute = Math.floor(window.startTime / 60);
  const toMinute = Math.min(Math.ceil(window.endTime / 60), visibleEnd);
  const periods = periodsBetween(machine.timeline, fromMinute, toMinute);
  if (!clip) extendEdges(machine, periods, visibleEnd);
  return toStatePeriods(periods).map((period) => (clip ? clipPeriod(period, window) : period));
}

/** Periods in epoch seconds, without those that have no data. */
export function toStatePeriods(periods: readonly Segment[]): StatePeriod[] {
  return periods.flatMap(({ fromMinute, toMinute, state }) =>
    state === null
      ? []
      : [{ startTime: fromMinute * 60, endTime: toMinute * 60, machineState: state }],
  );
}

/** A timeline whose state does not change from a minute on. */
function unchangedFrom(timeline: Timeline, endMinute: number): Timeline {
  return {
    segmentAt: (minute) => {
      const segment = timeline.segmentAt(Math.min(minute, endMinute - 1));
      return { ...segment, toMinute: segment.toMinute < endMinute ? segment.toMinute : Infinity };
    },
  };
}

function extendEdges(machine: Observed, periods: Segment[], visibleEnd: number): void {
  const [first, last] = [periods[0], periods.at(-1)];
  if (first) first.fromMinute = startOfPeriod(machine.timeline, first.fromMinute);
  if (last) last.toMinute = endOfPeriod(machine.timeline, last.toMinute - 1, visibleEnd);
}

function clipPeriod(
  period: StatePeriod,
  window: { startTime: number; endTime: number },
): StatePeriod {
  return {
    ...period,
    startTime: Math.max(period.startTime, window.startTime),
    endTime: Math.min(period.endTime, window.endTime),
  };
}
