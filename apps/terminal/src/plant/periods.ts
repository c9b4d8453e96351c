import type { MachineView, OpenStop, Tile } from '../api/index.js';

/** A time span of a machine in one state. */
export type Period = MachineView['periods'][number];

/** Epoch seconds, end exclusive. */
export interface Span {
  startTime: number;
  endTime: number;
}

/** The part of a span inside another one; undefined if they do not overlap. */
export function clippedTo<T extends Span>(span: T, { startTime, endTime }: Span): T | undefined {
  const clipped = {
    ...span,
    startTime: Math.max(span.startTime, startTime),
    endTime: Math.min(span.endTime, endTime),
  };
  return clipped.startTime < clipped.endTime ? clipped : undefined;
}

/** The parts of a span outside of `covers`. @param covers in time order, without overlap */
export function uncovered<T extends Span>(span: T, covers: readonly Span[]): T[] {
  const parts: T[] = [];
  let from = span.startTime;
  for (const cover of covers) {
    if (cover.endTime <= from) continue;
    if (cover.startTime >= span.endTime) break;
    if (cover.startTime > from) parts.push({ ...span, startTime: from, endTime: cover.startTime });
    from = cover.endTime;
  }
  if (from < span.endTime) parts.push({ ...span, startTime: from });
  return parts;
}

export function lengthOf(spans: readonly Span[]): number {
  return spans.reduce((sum, { startTime, endTime }) => sum + endTime - startTime, 0);
}

/** A time in IDLE or OFF; it ends now while it continues. */
export interface Stop extends Span {
  state: 'IDLE' | 'OFF';
  isGoingOn: boolean;
}

export interface Stops {
  open: OpenStop[];
  short: Tile['shortStops'];
  /** When the part of the present stop without a reason will be longer than the threshold. */
  nextAt: number | undefined;
}

/** The stops in a span, clipped to it. */
export function stopsIn(periods: readonly Period[], span: Span, now: number): Stop[] {
  return periods.flatMap(({ state, startTime, endTime }) => {
    if (state !== 'IDLE' && state !== 'OFF') return [];
    const stop = { state, startTime, endTime: endTime ?? now, isGoingOn: endTime === null };
    const clipped = clippedTo(stop, span);
    return clipped === undefined ? [] : [clipped];
  });
}

/**
 * The parts of stops that need a reason: longer than the threshold, and not covered by one. Stops up to the threshold
 * are counted, unless a reason covers them.
 *
 * @param covers in time order, without overlap
 */
export function findOpenStops(
  stops: readonly Stop[],
  covers: readonly Span[],
  thresholdSeconds: number,
): Stops {
  const found: Stops = { open: [], short: { count: 0, seconds: 0 }, nextAt: undefined };
  for (const stop of stops) {
    const length = stop.endTime - stop.startTime;
    const parts = uncovered(stop, covers);
    for (const { state, startTime, endTime } of parts) {
      const goesOn = stop.isGoingOn && endTime === stop.endTime;
      if (endTime - startTime > thresholdSeconds) {
        found.open.push({ startTime, endTime: goesOn ? null : endTime, state });
      }
    }
    if (stop.isGoingOn) {
      const from = uncoveredFrom(stop, parts.at(-1), covers);
      if (stop.endTime - from <= thresholdSeconds) found.nextAt = from + thresholdSeconds + 1;
    }
    if (length > thresholdSeconds || stop.isGoingOn || parts.length === 0) continue;
    found.short.count += 1;
    found.short.seconds += lengthOf(parts);
  }
  return found;
}

/** Where the part of the present stop without a reason begins: after the covers that reach to now, or beyond. */
function uncoveredFrom(stop: Stop, lastPart: Span | undefined, covers: readonly Span[]): number {
  if (lastPart?.endTime === stop.endTime) return lastPart.startTime;
  let from = stop.endTime;
  for (const { startTime, endTime } of covers) {
    if (startTime <= from && from < endTime) from = endTime;
  }
  return from;
}
