import type { MachineStateReading } from '#libs/cloud-client';
import { type ActivitySegment, CALCULATION_INTERVAL_SECONDS } from './activity-segments.js';
import { durationStart, START_TOLERANCE_SECONDS } from './duration-start.js';
import type { Period } from './published-period.js';

/**
 * Up to when the log will not change any more, in epoch seconds. Only the service's own updates say how late
 * it is there: while it stands, nothing becomes final, however long that lasts by our clock.
 */
export function finalUntil(
  { lastUpdateTime }: MachineStateReading,
  { settleSeconds }: { settleSeconds: number },
): number {
  return lastUpdateTime - settleSeconds;
}

/** As far as the log goes, that is: where it says nothing it corrects nothing and confirms nothing. */
export function settledPart(final: number, segments: readonly ActivitySegment[]): number {
  return Math.min(final, endOf(segments) - 1);
}

/**
 * Epoch seconds from which the log has yet to account for what led to the reading; null when it accounts for
 * all of it. A state whose duration reaches back well into the log has gone on since.
 */
export function unreadAfter(
  reading: MachineStateReading,
  segments: readonly ActivitySegment[],
): number | null {
  const { lastUpdateTime, state } = reading;
  const end = endOf(segments);
  const isShown =
    segments.at(-1)?.state === state && lastUpdateTime - end <= CALCULATION_INTERVAL_SECONDS;
  return isShown || durationStart(reading) <= end - START_TOLERANCE_SECONDS
    ? null
    : Math.min(end, lastUpdateTime);
}

/** By how much the log lags behind the reading at the least, in seconds, as what it does not show yet proves. */
export function logLag(
  reading: MachineStateReading,
  segments: readonly ActivitySegment[],
  published: readonly Pick<Period, 'startTime'>[],
): number {
  const [end, presentStart] = [endOf(segments), durationStart(reading)];
  // A start within the tolerance of the end may be in the log as the end itself.
  const missing = published
    .map(({ startTime }) => startTime)
    .filter((startTime) => startTime > end + START_TOLERANCE_SECONDS);
  const shownUntil = presentStart <= end ? end : Math.min(presentStart, ...missing);
  return Math.max(0, reading.lastUpdateTime - shownUntil);
}

/** The first moment of which the log says nothing. */
function endOf(segments: readonly ActivitySegment[]): number {
  return segments.at(-1)?.endTime ?? -Infinity;
}
