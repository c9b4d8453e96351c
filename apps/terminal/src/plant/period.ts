import type { MachineView } from '../api/index.js';

/** A stretch of a machine's time in one state. */
export type Period = MachineView['periods'][number];

/** Epoch seconds, end exclusive. */
export interface Span {
  startTime: number;
  endTime: number;
}

/** What of a span lies within another; undefined where nothing does. */
export function within<T extends Span>(span: T, { startTime, endTime }: Span): T | undefined {
  const clipped = {
    ...span,
    startTime: Math.max(span.startTime, startTime),
    endTime: Math.min(span.endTime, endTime),
  };
  return clipped.startTime < clipped.endTime ? clipped : undefined;
}

/** The parts of a span that none of others covers. @param covers in time order, without overlap */
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
