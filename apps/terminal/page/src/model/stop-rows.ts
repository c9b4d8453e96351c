import type { Tile } from '../../../src/api/index.js';
import {
  mayCover,
  type Outgoing,
  type OutgoingReason,
  explains,
  type Stop,
  unexplainedParts,
} from './outgoing.js';
import { overlap, type Period } from './periods.js';
import { currentEntries } from './strip.js';

export interface StopRow {
  key: string;
  machineId: string;
  machineName: string;
  stop: Stop;
  /** The service has revised the stop away: the machine has run since before its start. */
  isRevisedAway: boolean;
  /** The parts that need a reason; empty once all have one. */
  unexplained: Period[];
  /** The reasons given for it on this page, oldest first. */
  reasons: OutgoingReason[];
}

/** How long a row stays after its reason was applied, real milliseconds: long enough to be seen from the machine. */
const SEEN_AFTER_MS = 60_000;

/**
 * The list of stops: those that are open at the server, and those with a reason given here whose outcome is missing or
 * recent. A stop of which a part is explained remains one row.
 */
export function stopRows(
  tiles: Iterable<Tile>,
  outgoing: readonly Outgoing[],
  nowMs: number,
): StopRow[] {
  const byMachine = new Map<string, OutgoingReason[]>();
  for (const entry of outgoing) {
    if (entry.kind !== 'reason') continue;
    const given = byMachine.get(entry.machineId);
    if (given) given.push(entry);
    else byMachine.set(entry.machineId, [entry]);
  }
  const rows: StopRow[] = [];
  for (const tile of tiles) {
    const given = (byMachine.get(tile.machineId) ?? []).map((entry) => ({
      ...entry,
      stop: asEnded(entry, tile),
    }));
    byMachine.delete(tile.machineId);
    if (tile.openStops.length > 0 || given.length > 0)
      for (const row of rowsOf(tile.machineId, tile.displayName, tile.openStops, given, nowMs))
        rows.push({ ...row, isRevisedAway: isRevisedAway(row.stop, tile) });
  }
  // machines without a tile: of another factory, or before tiles were received
  for (const [machineId, given] of byMachine) {
    rows.push(...rowsOf(machineId, given[0]?.machineName ?? machineId, [], given, nowMs));
  }
  return rows;
}

/**
 * The stop of an entry, ended once the machine's present state or a later stop shows that it is over: stops with a
 * reason are not in `openStops`. The exact end comes with the reason's follow-up.
 */
function asEnded(entry: OutgoingReason, { startTime, openStops, goingOn }: Tile): Stop {
  const { stop } = entry;
  if (stop.endTime !== null || startTime === null || startTime <= stop.startTime) return stop;
  const here = openStops.filter((open) => overlap(open, stop));
  if (goingOn?.entryId === entry.id || here.some((open) => mayCover(entry, open))) return stop;
  return { ...stop, endTime: Math.min(startTime, ...here.map((later) => later.startTime)) };
}

function isRevisedAway(stop: Stop, { state, startTime }: Tile): boolean {
  return (
    stop.state !== 'OPERATING' &&
    state === 'OPERATING' &&
    startTime !== null &&
    startTime <= stop.startTime
  );
}

/** An applied reason is shown for a while, a refused one until it is dismissed or another is given. */
function isShown(entry: OutgoingReason, nowMs: number): boolean {
  return entry.status !== 'applied' || Math.abs(nowMs - (entry.settledAtMs ?? 0)) < SEEN_AFTER_MS;
}

function rowsOf(
  machineId: string,
  machineName: string,
  open: readonly Stop[],
  given: readonly OutgoingReason[],
  nowMs: number,
): StopRow[] {
  const rows = new Map<number, StopRow>();
  const rowFor = (stop: Stop): StopRow => {
    const found = [...rows.values()].find((row) => overlap(row.stop, stop));
    if (found) {
      // the earliest known end: the others are starts of later states
      const ends = [found.stop.endTime, stop.endTime].filter((end) => end !== null);
      if (found.stop.startTime === stop.startTime && ends.length > 0)
        found.stop = { ...found.stop, endTime: Math.min(...ends) };
      return found;
    }
    const key = `${machineId}|${String(stop.startTime)}`;
    const row = {
      ...{ key, machineId, machineName, stop, isRevisedAway: false },
      ...{ unexplained: [], reasons: [] },
    };
    rows.set(stop.startTime, row);
    return row;
  };
  const standing = given.filter((entry) => isShown(entry, nowMs) && explains(entry));
  // a corrected reason does not return when its correction is no longer shown
  const current = currentEntries(given.map((entry) => ({ ...entry, sentAt: entry.madeAt })))
    .filter((entry) => isShown(entry, nowMs))
    .reverse();
  for (const entry of current) {
    const isReplaced = standing.some(
      (other) => other.madeAt >= entry.madeAt && overlap(other, entry),
    );
    if (explains(entry) || !isReplaced) rowFor(entry.stop).reasons.push(entry);
  }
  for (const stop of open) {
    const row = rowFor(stop);
    // the server knows the end of a stop, but its start may be that of the unexplained rest
    if (row.stop.endTime === null && stop.endTime !== null)
      row.stop = { ...row.stop, endTime: stop.endTime };
    row.unexplained.push(...unexplainedParts(stop, standing).filter(isWorthAsking));
  }
  return [...rows.values()];
}

/** A rest of less than a minute is jitter of the states, not a stop. */
function isWorthAsking({ startTime, endTime }: Period): boolean {
  return endTime === null || endTime - startTime >= 60;
}

export type RowOrder = 'newest' | 'longest';

export function compareRows(order: RowOrder, now: number): (a: StopRow, b: StopRow) => number {
  const newest = (a: StopRow, b: StopRow): number =>
    b.stop.startTime - a.stop.startTime || (a.key < b.key ? -1 : 1);
  if (order === 'newest') return newest;
  const lengthOf = ({ stop }: StopRow): number => (stop.endTime ?? now) - stop.startTime;
  return (a, b) => lengthOf(b) - lengthOf(a) || newest(a, b);
}

/** The list while someone is about to tap on it: rows keep their places, new rows are left out, ended ones remain. */
export function heldRows(
  shown: readonly StopRow[],
  wanted: readonly StopRow[],
): { rows: StopRow[]; more: number } {
  const latest = new Map(wanted.map((row) => [row.key, row]));
  const known = new Set(shown.map(({ key }) => key));
  return {
    rows: shown.map((row) => latest.get(row.key) ?? { ...row, unexplained: [] }),
    more: wanted.filter(({ key }) => !known.has(key)).length,
  };
}
