/** Interface, "Limits". */
const LONGEST_WINDOW_SECONDS = 30 * 24 * 3600;

/** Why an activity log of this window (epoch seconds) is refused, or null. */
export function refuseWindow(window: { startTime: number; endTime: number }): string | null {
  if (window.startTime > window.endTime) return 'startTime is later than endTime';
  if (window.endTime - window.startTime > LONGEST_WINDOW_SECONDS) {
    return 'the requested period is above the maximum of 30 days';
  }
  return null;
}
