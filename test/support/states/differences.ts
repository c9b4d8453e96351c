import type { MachineState } from '#libs/contracts';
import type { TimelinePeriod } from './fold-states.js';

/** The states of two timelines for the same time; null is no state. Epoch seconds. */
export interface StateDifference {
  startTime: number;
  endTime: number;
  expected: MachineState | null;
  seen: MachineState | null;
}

/** How much of either timeline is shown before and after the first difference. */
const SHOWN_SECONDS = 8 * 60;

/** Times in which two timelines differ, in order. */
export function differences(
  expected: readonly TimelinePeriod[],
  seen: readonly TimelinePeriod[],
): StateDifference[] {
  const edges = [...expected, ...seen].flatMap(({ startTime, endTime }) => [startTime, endTime]);
  const times = [...new Set(edges)].sort((a, b) => a - b);
  const found: StateDifference[] = [];
  for (const [index, startTime] of times.slice(0, -1).entries()) {
    const endTime = times[index + 1] ?? startTime;
    const difference = { expected: stateAt(expected, startTime), seen: stateAt(seen, startTime) };
    if (difference.expected !== difference.seen) found.push({ startTime, endTime, ...difference });
  }
  return found;
}

/** The part of a timeline within [from, to). */
export function clipped(
  periods: readonly TimelinePeriod[],
  from: number,
  to: number,
): TimelinePeriod[] {
  return periods
    .map(({ state, startTime, endTime }) => ({
      state,
      startTime: Math.max(startTime, from),
      endTime: Math.min(endTime, to),
    }))
    .filter(({ startTime, endTime }) => startTime < endTime);
}

/** The first difference as text, with its surroundings in both timelines; undefined if there is none. */
export function describeDifference(
  machineId: string,
  expected: readonly TimelinePeriod[],
  seen: readonly TimelinePeriod[],
): string | undefined {
  const [first, ...others] = differences(expected, seen);
  if (first === undefined) return undefined;
  const around = (periods: readonly TimelinePeriod[]): string =>
    clipped(periods, first.startTime - SHOWN_SECONDS, first.endTime + SHOWN_SECONDS)
      .map(({ state, startTime, endTime }) => `${span({ startTime, endTime })} ${state}`)
      .join(', ');
  return [
    `${machineId} ${span(first)}: expected ${stateOf(first.expected)}, seen ${stateOf(first.seen)}`,
    `  expected: ${around(expected)}`,
    `  seen:     ${around(seen)}`,
    ...(others.length > 0 ? [`  and ${others.length} more stretches`] : []),
  ].join('\n');
}

function stateAt(periods: readonly TimelinePeriod[], time: number): MachineState | null {
  const period = periods.find((it) => it.startTime <= time && time < it.endTime);
  return period?.state ?? null;
}

function stateOf(state: MachineState | null): string {
  return state ?? 'nothing';
}

function span({ startTime, endTime }: { startTime: number; endTime: number }): string {
  return `${clockTime(startTime)}–${clockTime(endTime)}`;
}

/** Hours and minutes of the plant's day. */
function clockTime(time: number): string {
  return Number.isFinite(time) ? new Date(time * 1000).toISOString().slice(11, 16) : 'now';
}
