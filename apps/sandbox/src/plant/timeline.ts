import type { MachineState } from '#libs/contracts';

/** The calculated state of a minute; null is "no data". */
export type MinuteState = MachineState | null;

/** Minutes since the epoch; `toMinute` is exclusive and may be Infinity. */
export interface Segment {
  fromMinute: number;
  toMinute: number;
  state: MinuteState;
}

/** The states of a machine by minute. Neighbouring segments may have the same state. */
export interface Timeline {
  segmentAt(minute: number): Segment;
}

/** The minute in which the state at `minute` began. */
export function startOfPeriod(timeline: Timeline, minute: number): number {
  const { state, fromMinute } = timeline.segmentAt(minute);
  let start = fromMinute;
  while (Number.isFinite(start)) {
    const before = timeline.segmentAt(start - 1);
    if (before.state !== state) break;
    start = before.fromMinute;
  }
  return start;
}

/** The first minute after `minute` with another state, at most `limit`. */
export function endOfPeriod(timeline: Timeline, minute: number, limit: number): number {
  const { state, toMinute } = timeline.segmentAt(minute);
  let end = toMinute;
  while (end < limit) {
    const next = timeline.segmentAt(end);
    if (next.state !== state) break;
    end = next.toMinute;
  }
  return Math.min(end, limit);
}

/** The periods of [fromMinute, toMinute), cut at its edges. Neighbouring periods have different states. */
export function periodsBetween(
  timeline: Timeline,
  fromMinute: number,
  toMinute: number,
): Segment[] {
  const periods: Segment[] = [];
  for (let minute = fromMinute; minute < toMinute;) {
    const segment = timeline.segmentAt(minute);
    const end = Math.min(segment.toMinute, toMinute);
    const last = periods.at(-1);
    if (last?.state === segment.state) last.toMinute = end;
    else periods.push({ fromMinute: minute, toMinute: end, state: segment.state });
    minute = end;
  }
  return periods;
}
