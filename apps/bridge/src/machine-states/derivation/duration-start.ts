import type { MachineStateReading } from '#libs/cloud-client';

/**
 * How far a start estimated from durationInMinutes may be off: it jitters by a minute from poll to poll
 * (interface: accurate to 1 to 2 minutes), and is a rounded number of minutes besides.
 */
export const START_TOLERANCE_SECONDS = 120;

/**
 * Start of the current state as its duration has it, in epoch seconds. The largest number of a type, say, where the
 * service does not know, is not to be a time of year -2000.
 */
export function durationStart({ lastUpdateTime, durationInMinutes }: MachineStateReading): number {
  return Math.max(0, lastUpdateTime - Math.max(0, durationInMinutes) * 60);
}

/**
 * Whether nothing is known of so much of the time between two moments that the state before cannot be said to
 * have lasted: more than a start may be off, and a poll that failed.
 */
export function isUnseen(from: number, to: number): boolean {
  return to - from > START_TOLERANCE_SECONDS + 60;
}
