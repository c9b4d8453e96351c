import type { MachineState, StateChanged } from '#libs/contracts';

/** A stretch of one state; it lasts until the next one begins. Times are epoch seconds. */
export interface Period {
  state: MachineState;
  startTime: number;
  startTimeSource: StateChanged['startTimeSource'];
  /** Where the period before ended, if minutes without data lie between it and this one; else null. */
  previousEndTime: number | null;
}

/** A period as the latest of its events has it. */
export interface PublishedPeriod extends Period {
  previousState: MachineState | null;
  previousStartTime: number | null;
  revision: number;
}

/** What a `ce_id` is made of, besides the machine. */
export type EventIdentity = Pick<PublishedPeriod, 'state' | 'startTime' | 'revision'>;

/** Starts that differ within a minute are the same: the service calculates by the minute. */
export function isSamePeriod(a: Period, b: Period): boolean {
  return a.state === b.state && minuteOf(a.startTime) === minuteOf(b.startTime);
}

/** How many minutes the starts are apart. */
export function minutesApart(a: Period, b: Period): number {
  return Math.abs(minuteOf(a.startTime) - minuteOf(b.startTime));
}

function minuteOf(time: number): number {
  return Math.floor(time / 60);
}
