import type { Period } from './periods.js';

const MINUTE = 60;

/** Both parts need at least a minute, the resolution of the service's states. */
export function canSplit(period: Period, now: number): boolean {
  return firstSplit(period) <= lastSplit(period, now);
}

/** The whole minute nearest to `time` that leaves at least a minute on either side. */
export function snapSplit(time: number, period: Period, now: number): number {
  const nearest = Math.round(time / MINUTE) * MINUTE;
  return Math.min(lastSplit(period, now), Math.max(firstSplit(period), nearest));
}

export function splitAt(period: Period, time: number): [Period, Period] {
  return [
    { startTime: period.startTime, endTime: time },
    { startTime: time, endTime: period.endTime },
  ];
}

export function firstSplit({ startTime }: Period): number {
  return Math.ceil((startTime + MINUTE) / MINUTE) * MINUTE;
}

export function lastSplit({ endTime }: Period, now: number): number {
  return Math.floor(((endTime ?? now) - MINUTE) / MINUTE) * MINUTE;
}
