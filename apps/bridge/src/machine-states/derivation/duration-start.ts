import { type MachineStateReading } from '#libs/cloud-client';

/**
 * How far a start reckoned from durationInMinutes may be off: it jitters by a minute from poll to poll
 * (interface: accurate to 1 to 2 minutes), and is a rounded number of minutes besides.
 */
export const START_TOLERANCE_SECONDS = 120;

/** Start of the current state as its duration has it, in epoch seconds. */
export function durationStart({ lastUpdateTime, durationInMinutes }: MachineStateReading): number {
  return lastUpdateTime - Math.max(0, durationInMinutes) * 60;
}
