import { type MachineStateReading } from '#libs/cloud-client';
import { type ActivitySegment } from './activity-segments.js';
import { type ActivityLog, segmentsUpTo } from './logged-periods.js';
import { LOG_LAG_SECONDS } from './present-period.js';

/** A log that ends longer ago than this is not going to catch up with the current state. */
export const CATCH_UP_SECONDS = 300;

/**
 * Up to when the log will not change any more, in epoch seconds. The service's own updates tell how late
 * it is there, whatever our clock says.
 */
export function finalUntil({ lastUpdateTime }: MachineStateReading, settleSeconds: number): number {
  return lastUpdateTime - Math.max(settleSeconds, LOG_LAG_SECONDS);
}

/** As far as the log goes, that is: where it says nothing it corrects nothing. */
export function settledPart(final: number, segments: readonly ActivitySegment[]): number {
  return Math.min(final, segments.at(-1)?.endTime ?? -Infinity);
}

/**
 * Up to when the log need not be read again, for it has been; or never got so far and will not, as it
 * does not even show a present state that began long ago.
 */
export function readUntil(
  reading: MachineStateReading,
  log: ActivityLog,
  { presentSince, settleSeconds }: { presentSince: number; settleSeconds: number },
): number {
  const endTime = segmentsUpTo(reading, log).at(-1)?.endTime ?? -Infinity;
  const final = finalUntil(reading, settleSeconds);
  const lag = reading.lastUpdateTime - Math.max(endTime, presentSince);
  return lag > CATCH_UP_SECONDS ? final : Math.min(final, endTime);
}
