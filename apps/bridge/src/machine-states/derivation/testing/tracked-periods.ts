import type { ActivityLogEntry, MachineStateReading } from '#libs/cloud-client';
import type { MachineState } from '#libs/contracts';
import { newlyTracked, type PublishedPeriod, type TrackedMachine } from '../tracked-machine.js';

export const MACHINE = {
  ...{ machineId: 'M-1', displayName: 'Mill', factoryId: 'F-1', factoryName: 'Plant' },
};

const T0 = 1_763_680_020;

/** Epoch seconds of a minute after a fixed time, for readable cases. */
export const at = (minute: number): number => T0 + minute * 60;

/** The minute of a time. */
export const minuteOf = (epochSeconds: number): number => (epochSeconds - T0) / 60;

/** From one minute to another. */
export type Stretch = [state: MachineState, from: number, to: number];

export function entriesOf(...stretches: readonly Stretch[]): ActivityLogEntry[] {
  return stretches.map(([state, from, to]) => ({ state, startTime: at(from), endTime: at(to) }));
}

export function readingOf(
  state: MachineState,
  durationInMinutes: number,
  minute: number,
): MachineStateReading {
  return { state, durationInMinutes, lastUpdateTime: at(minute) };
}

/** Published one after the other; all but the first may still be corrected. */
export function published(
  ...starts: [state: MachineState, from: number, source?: PublishedPeriod['startTimeSource']][]
): TrackedMachine {
  const periods = starts.map(([state, from, source], index): PublishedPeriod => {
    const before = starts[index - 1];
    return {
      ...{ state, startTime: at(from), startTimeSource: source ?? 'activityLog', revision: 0 },
      previousState: before?.[0] ?? null,
      previousStartTime: before === undefined ? null : at(before[1]),
      previousEndTime: null,
    };
  });
  const settledUntil = periods[0]?.startTime ?? null;
  return { ...newlyTracked(MACHINE), periods, settledUntil, sequence: periods.length };
}
