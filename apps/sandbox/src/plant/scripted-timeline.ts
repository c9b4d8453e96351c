import type { MachineState } from '#libs/contracts';
import type { MinuteState, Segment, Timeline } from './timeline.js';
import { prevailingState } from './prevailing-state.js';

/** Epoch seconds, end exclusive; Infinity for a state without end. */
export interface ScriptedPeriod {
  startTime: number;
  endTime: number;
  state: MachineState;
}

/** A timeline from periods with a resolution of seconds. Gaps between periods are "no data". */
export class ScriptedTimeline implements Timeline {
  private readonly segments: readonly Segment[];

  /** @param periods in order of time, without overlap */
  constructor(periods: readonly ScriptedPeriod[]) {
    this.segments = resolveMinutes(periods);
  }

  segmentAt(minute: number): Segment {
    let [low, high] = [0, this.segments.length - 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.segments[middle]?.toMinute ?? Infinity) <= minute) low = middle + 1;
      else high = middle;
    }
    return this.segments[low] ?? { fromMinute: -Infinity, toMinute: Infinity, state: null };
  }
}

/** Segments without gaps from -Infinity to Infinity, in whole minutes. A minute with a change is its own segment. */
function resolveMinutes(periods: readonly ScriptedPeriod[]): Segment[] {
  const segments: Segment[] = [];
  let minute = -Infinity;
  const until = (toMinute: number, state: MinuteState): void => {
    if (toMinute > minute) segments.push({ fromMinute: minute, toMinute, state });
    minute = Math.max(minute, toMinute);
  };
  periods.forEach((period, index) => {
    until(Math.floor(period.startTime / 60), null);
    until(Math.ceil(period.startTime / 60), stateOfMixedMinute(periods, index, period.startTime));
    until(Math.floor(period.endTime / 60), period.state);
    if (Number.isFinite(period.endTime)) {
      until(Math.ceil(period.endTime / 60), stateOfMixedMinute(periods, index, period.endTime));
    }
  });
  until(Infinity, null);
  return segments;
}

function stateOfMixedMinute(
  periods: readonly ScriptedPeriod[],
  index: number,
  time: number,
): MinuteState {
  const from = Math.floor(time / 60) * 60;
  const pieces: { state: MinuteState; seconds: number }[] = [];
  let covered = from;
  for (let at = firstInMinute(periods, index, from); at < periods.length; at += 1) {
    const period = periods[at];
    if (!period || period.startTime >= from + 60) break;
    const [start, end] = [Math.max(period.startTime, from), Math.min(period.endTime, from + 60)];
    pieces.push({ state: null, seconds: start - covered });
    pieces.push({ state: period.state, seconds: end - start });
    covered = end;
  }
  pieces.push({ state: null, seconds: from + 60 - covered });
  return prevailingState(pieces.filter((piece) => piece.seconds > 0));
}

function firstInMinute(periods: readonly ScriptedPeriod[], index: number, from: number): number {
  let first = index;
  while ((periods[first - 1]?.endTime ?? -Infinity) > from) first -= 1;
  return first;
}
