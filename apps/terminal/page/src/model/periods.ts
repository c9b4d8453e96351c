import type { Period } from '../../../src/api/index.js';

export type { Period };

const endOf = ({ endTime }: Period): number => endTime ?? Infinity;

export function overlap(a: Period, b: Period): boolean {
  return a.startTime < endOf(b) && b.startTime < endOf(a);
}

export function secondsOf(period: Period, now: number): number {
  return Math.max(0, (period.endTime ?? now) - period.startTime);
}

/** The parts of a period outside of others. */
export function subtractPeriods<P extends Period>(period: P, others: readonly Period[]): P[] {
  return others.reduce<P[]>(
    (rest, other) => rest.flatMap((part) => subtractPeriod(part, other)),
    [period],
  );
}

export function subtractPeriod<P extends Period>(part: P, other: Period): P[] {
  if (!overlap(part, other)) return [part];
  return [
    { ...part, endTime: other.startTime },
    { ...part, startTime: endOf(other) },
  ].filter((rest) => rest.startTime < endOf(rest));
}

/** Seconds of `period` in which the machine was OPERATING. */
export function operatingSeconds(
  periods: readonly (Period & { state: string | null })[],
  period: Period,
  now: number,
): number {
  const until = period.endTime ?? now;
  return periods
    .filter(({ state }) => state === 'OPERATING')
    .reduce((sum, { startTime, endTime }) => {
      const seconds = Math.min(endTime ?? now, until) - Math.max(startTime, period.startTime);
      return sum + Math.max(0, seconds);
    }, 0);
}
