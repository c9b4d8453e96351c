import type { HandOver, Note } from '../api/index.js';
import type { Evaluation, Machine } from './machine.js';
import { lengthOf, type Span, uncovered, within } from './period.js';
import { stopsIn } from './stops.js';

/** What a shift hands over of one machine; undefined where it neither stopped nor has notes. */
export function handOverOf(
  machine: Machine,
  { periods, classified, tile }: Evaluation,
  shift: Span,
  now: number,
): HandOver['machines'][number] | undefined {
  const stops = stopsIn(periods, { ...shift, endTime: Math.min(shift.endTime, now) }, now);
  const notes = machine.notes.filter((note) => isIn(note, shift));
  if (stops.length === 0 && notes.length === 0) return undefined;
  const seconds = new Map<string, number>();
  for (const stop of stops) {
    for (const { startTime, endTime, entry } of classified) {
      const part = within({ startTime, endTime }, stop);
      if (part === undefined) continue;
      const before = seconds.get(entry.reasonId) ?? 0;
      seconds.set(entry.reasonId, before + part.endTime - part.startTime);
    }
  }
  // As everywhere, only what is longer than the threshold needs a reason.
  const unexplained = tile.openStops.flatMap(
    ({ startTime, endTime }) => within({ startTime, endTime: endTime ?? now }, shift) ?? [],
  );
  const uncoveredSeconds = lengthOf(stops.flatMap((stop) => uncovered(stop, classified)));
  return {
    machineId: machine.machineId,
    displayName: machine.displayName,
    stoppedSeconds: lengthOf(stops),
    unexplainedSeconds: lengthOf(unexplained),
    shortSeconds: Math.max(0, uncoveredSeconds - lengthOf(unexplained)),
    reasons: [...seconds]
      .map(([reasonId, sum]) => ({ reasonId, seconds: sum }))
      .sort((a, b) => b.seconds - a.seconds),
    openStops: tile.openStops.filter(
      ({ startTime, endTime }) => startTime < shift.endTime && (endTime ?? now) > shift.startTime,
    ),
    notes,
  };
}

function isIn({ startTime }: Note, shift: Span): boolean {
  return startTime >= shift.startTime && startTime < shift.endTime;
}
