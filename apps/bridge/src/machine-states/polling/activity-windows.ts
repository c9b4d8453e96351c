/** Interface, Limits: the longest period MachineActivityLog answers for. */
export const LONGEST_WINDOW_SECONDS = 30 * 24 * 3600;

/** Splits a period into windows the service answers for, oldest first; they touch. Epoch seconds. */
export function activityWindows(
  from: number,
  to: number,
): { startTime: number; endTime: number }[] {
  const windows: { startTime: number; endTime: number }[] = [];
  for (let startTime = from; startTime < to; startTime += LONGEST_WINDOW_SECONDS) {
    windows.push({ startTime, endTime: Math.min(startTime + LONGEST_WINDOW_SECONDS, to) });
  }
  return windows;
}
