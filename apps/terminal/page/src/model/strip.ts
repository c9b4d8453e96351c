import type { Entry, MachineState, MachineView, Session } from '../../../src/api/index.js';
import { type OutgoingReason, type OutgoingStatus, explains } from './outgoing.js';
import { overlap, type Period, subtractPeriod } from './periods.js';

export interface Bar {
  /** Remains when a correction moves the bar, so that the bar glides. */
  key: number;
  state: MachineState | null;
  startTime: number;
  endTime: number;
  isOpen: boolean;
  revision: number;
}

export type Shift = Session['shifts'][number];

/** The shift up to now as bars without gaps; where nothing is known, the state is null. */
export function barsOf(
  periods: MachineView['periods'],
  shift: Shift,
  now: number,
  before: readonly Bar[],
): Bar[] {
  const until = Math.min(shift.endTime, now);
  const bars: Omit<Bar, 'key'>[] = [];
  let at = shift.startTime;
  for (const period of periods) {
    const startTime = Math.max(at, period.startTime);
    const endTime = Math.min(until, period.endTime ?? until);
    if (endTime <= startTime) continue;
    if (startTime > at)
      bars.push({ state: null, startTime: at, endTime: startTime, isOpen: false, revision: 0 });
    const { state, revision } = period;
    bars.push({ state, startTime, endTime, isOpen: period.endTime === null, revision });
    at = endTime;
  }
  if (at < until)
    bars.push({ state: null, startTime: at, endTime: until, isOpen: false, revision: 0 });
  return withKeys(bars, before);
}

/** Gives each bar the key of the earlier bar with its state that shares most of its time. */
function withKeys(bars: readonly Omit<Bar, 'key'>[], before: readonly Bar[]): Bar[] {
  const free = [...before];
  let next = before.reduce((max, { key }) => Math.max(max, key), 0) + 1;
  return bars.map((bar) => {
    let [best, most] = [-1, 0];
    free.forEach((candidate, index) => {
      const shared =
        Math.min(candidate.endTime, bar.endTime) - Math.max(candidate.startTime, bar.startTime);
      if (candidate.state === bar.state && shared > most) [best, most] = [index, shared];
    });
    const [match] = best < 0 ? [] : free.splice(best, 1);
    return { ...bar, key: match?.key ?? next++ };
  });
}

/**
 * The entries that count, last sent first: of those from one start (sent again with an end, or corrected) the latest.
 * Refused ones are shown beside it.
 */
export function currentEntries<
  E extends Pick<Entry, 'startTime' | 'sentAt'> & { status: OutgoingStatus },
>(entries: readonly E[]): E[] {
  const newestFirst = [...entries].reverse().sort((a, b) => b.sentAt - a.sentAt);
  const seen = new Set<number>();
  return newestFirst.filter((entry) => {
    if (!explains(entry)) return true;
    const isNew = !seen.has(entry.startTime);
    seen.add(entry.startTime);
    return isNew;
  });
}

/** The entries that count in a shift: one from the last shift is left out if its latest form ended there. */
export function entriesIn<E extends Period & Parameters<typeof currentEntries>[0][number]>(
  shift: Shift,
  entries: readonly E[],
): E[] {
  return currentEntries(entries).filter((entry) => overlap(entry, shift));
}

/**
 * When a reason applies. An open-ended one applies until a later one, or the end of its shift, except where a later one
 * covers it.
 */
export function appliesIn(
  { entryId, startTime, endTime, status }: Entry,
  classifications: MachineView['classifications'],
  now: number,
): Period[] {
  if (endTime !== null || !explains({ status })) return [{ startTime, endTime }];
  return classifications
    .filter((span) => span.entryId === entryId)
    .map((span) => ({
      startTime: span.startTime,
      endTime: span.endTime > now ? null : span.endTime,
    }));
}

export interface ReasonBar extends Shift {
  entryId: string;
  reasonId: string;
  isOpen: boolean;
  moved: boolean;
}

/**
 * Which reason applies when: as the server says, overlaid by entries that it does not know yet. An open-ended reason
 * that waits applies in the shift in which it is sent.
 *
 * @param local entries of this page, the last sent at the end
 */
export function reasonBars(
  view: Pick<MachineView, 'entries' | 'classifications'> | null,
  local: readonly OutgoingReason[],
  shift: Shift,
  now: number,
  shifts: readonly Shift[],
): ReasonBar[] {
  const sent = new Map(view?.entries.map((entry) => [entry.entryId, entry]));
  let bars = (view?.classifications ?? []).flatMap(({ entryId, startTime, endTime }) => {
    const entry = sent.get(entryId);
    if (entry === undefined) return [];
    const { reasonId, moved } = entry;
    return [{ entryId, reasonId, startTime, endTime, isOpen: entry.endTime === null, moved }];
  });
  for (const entry of local.filter(({ id }) => !sent.has(id)).filter(explains)) {
    const { id, reasonId, startTime, status, madeAt } = entry;
    const endTime = entry.endTime ?? (status === 'waiting' ? Infinity : shiftEnd(madeAt, shifts));
    const isOpen = entry.endTime === null;
    const added = { entryId: id, reasonId, startTime, endTime, isOpen, moved: false };
    bars = [...bars.flatMap((bar) => subtractPeriod(bar, added)), added];
  }
  const until = Math.min(shift.endTime, now);
  return bars
    .map((bar) => ({
      ...bar,
      startTime: Math.max(bar.startTime, shift.startTime),
      endTime: Math.min(bar.endTime, until),
      isOpen: bar.isOpen && bar.endTime > now,
    }))
    .filter(({ startTime, endTime }) => startTime < endTime)
    .sort((a, b) => a.startTime - b.startTime);
}

/** The end of the shift at a time; if that shift is unknown, the start of the next known one. */
function shiftEnd(time: number, shifts: readonly Shift[]): number {
  const of = shifts.find(({ startTime, endTime }) => startTime <= time && time < endTime);
  const next = shifts.filter(({ startTime }) => time < startTime).map(({ startTime }) => startTime);
  return of?.endTime ?? Math.min(...next);
}

/** The visible part of the shift after zooming around a time. */
export function zoom(view: Shift, factor: number, around: number, shift: Shift): Shift {
  const length = Math.min(
    shift.endTime - shift.startTime,
    Math.max(MIN_VIEW_SECONDS, (view.endTime - view.startTime) * factor),
  );
  const share = (around - view.startTime) / (view.endTime - view.startTime);
  return clamped(
    { startTime: around - share * length, endTime: around + (1 - share) * length },
    shift,
  );
}

export function pan(view: Shift, seconds: number, shift: Shift): Shift {
  return clamped({ startTime: view.startTime + seconds, endTime: view.endTime + seconds }, shift);
}

const MIN_VIEW_SECONDS = 15 * 60;

function clamped(view: Shift, shift: Shift): Shift {
  const length = view.endTime - view.startTime;
  const startTime = Math.min(Math.max(view.startTime, shift.startTime), shift.endTime - length);
  return { startTime, endTime: startTime + length };
}

const MIN_GAP_PX = 76;
const STEPS_SECONDS = [60, 300, 600, 900, 1800, 3600, 7200, 14_400];

/** Round times for the axis, in any zone: offsets are whole quarters of an hour. */
export function ticksOf(view: Shift, widthPx: number): number[] {
  const length = view.endTime - view.startTime;
  const fits = (step: number): boolean => (step / length) * widthPx >= MIN_GAP_PX;
  const step = STEPS_SECONDS.find(fits) ?? 28_800;
  const ticks: number[] = [];
  for (let at = Math.ceil(view.startTime / step) * step; at <= view.endTime; at += step)
    ticks.push(at);
  return ticks;
}
