import { type MachineStateReading } from '#libs/cloud-client';
import { type ActivitySegment } from './activity-segments.js';
import { durationStart } from './duration-start.js';
import { type ActivityLog, segmentsUpTo } from './logged-periods.js';
import { type Freshness } from './observation.js';

/** A log that is behind by more is not going to catch up with the current state. */
const CATCH_UP_SECONDS = 300;

/** A poll's time, and for how long what the log says may still change. */
export interface SettleContext extends Freshness {
  settleSeconds: number;
}

/**
 * Up to when the log will not change any more, in epoch seconds of the service. How late it is there its
 * own updates tell, and the time since the latest of them came; our clock alone may be off.
 */
export function finalUntil(
  { lastUpdateTime }: MachineStateReading,
  { now, updateSeenAt = now, settleSeconds }: SettleContext,
): number {
  return lastUpdateTime + Math.max(0, now - updateSeenAt) - settleSeconds;
}

/** As far as the log goes, that is: where it says nothing it corrects nothing. */
export function settledPart(final: number, segments: readonly ActivitySegment[]): number {
  return Math.min(final, lastMomentOf(segments));
}

/** Up to when the log need not be read again, for it has been; or never got so far and will not. */
export function readUntil(
  reading: MachineStateReading,
  log: ActivityLog,
  context: SettleContext,
): number {
  const last = lastMomentOf(segmentsUpTo(reading, log));
  const final = finalUntil(reading, context);
  return isBehindForGood(reading, last) ? final : Math.min(final, last);
}

/** Whether a log that ends then does not even show a present state that began long ago. */
export function isBehindForGood(reading: MachineStateReading, endTime: number): boolean {
  const shownFrom = Math.max(endTime, durationStart(reading));
  return reading.lastUpdateTime - shownFrom > CATCH_UP_SECONDS;
}

/** The end of a segment is the first moment of which it says nothing. */
function lastMomentOf(segments: readonly ActivitySegment[]): number {
  return (segments.at(-1)?.endTime ?? -Infinity) - 1;
}
