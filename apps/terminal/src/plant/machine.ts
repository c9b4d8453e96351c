import { createHash } from 'node:crypto';
import type { ShiftCalendar } from '#libs/clock';
import {
  classificationPeriods,
  type MachineRegistryRecord,
  type MachineStateRecord,
} from '#libs/contracts';
import type { Entry, HandOver, MachineView, Note, ReasonLists, Tile } from '../api/index.js';
import {
  lengthOf,
  findOpenStops,
  type Period,
  type Span,
  type Stops,
  stopsIn,
  uncovered,
  clippedTo,
} from './periods.js';
import { Timeline } from './timeline.js';

export type ReasonList = ReasonLists['lists'][number];

/** A time span with the reason that applies to it. */
interface ClassifiedSpan extends Span {
  entry: Entry;
  /** The later reason that ended an open-ended one, and when that would have ended otherwise. */
  cut?: { by: Entry; endTime: number };
}

/** The state of a machine at one time, derived from its records. */
export interface Evaluation {
  tile: Tile;
  periods: readonly Period[];
  /** Which reason applies when, in time order. */
  classified: readonly ClassifiedSpan[];
  /** When it becomes outdated without a new record; epoch seconds, Infinity for never. */
  nextAt: number;
}

export interface EvaluationContext {
  now: number;
  calendar: ShiftCalendar;
  stopThresholdSeconds: number;
  /** From the start of the last shift to the end of the current one. */
  window: Span;
}

/** Orders of a list for which a tile has room. */
const ORDERS_SHOWN = 20;
const FAVOURITES = 4;
const LATELY_ENTRIES = 50;
/** Many times what operators send for one machine in two shifts. */
const MAX_ENTRIES = 1000;
const MAX_NOTES = 200;
/** The shortest time that the service can classify. */
const LEAST_SECONDS = 60;
/** A correction concerns an entry if it moves a start that is this close to the entry's start or end. */
const EDGE_SECONDS = 60;

/** One machine: its latest records, its timeline, and the reasons and notes sent for it. */
export class Machine {
  registry: MachineRegistryRecord | undefined;
  latest: (MachineStateRecord & { settledUntil?: number | null }) | undefined;
  reasons: ReasonList = [];
  workingOrders: string[] | null = null;
  readonly timeline = new Timeline();
  /** In the order in which they were sent. */
  readonly entries: Entry[] = [];
  readonly notes: Note[] = [];
  private workingOrdersAt = -Infinity;

  constructor(readonly machineId: string) {}

  get isListed(): boolean {
    return this.registry !== undefined || this.latest !== undefined;
  }

  get displayName(): string {
    return this.registry?.displayName ?? this.latest?.displayName ?? this.machineId;
  }

  get factoryId(): string {
    return this.registry?.factoryId ?? this.latest?.factoryId ?? '';
  }

  setWorkingOrders(orders: readonly string[], appliedAt: number): void {
    if (appliedAt < this.workingOrdersAt) return;
    this.workingOrders = orders.slice(0, ORDERS_SHOWN);
    this.workingOrdersAt = appliedAt;
  }

  /** Returns the entry that was dropped to make room. */
  addEntry(entry: Entry): Entry | undefined {
    this.entries.push(entry);
    return this.entries.length > MAX_ENTRIES ? this.entries.shift() : undefined;
  }

  addNote(note: Note): Note | undefined {
    this.notes.push(note);
    return this.notes.length > MAX_NOTES ? this.notes.shift() : undefined;
  }

  /** Marks the entries whose stop has been moved by a correction. Returns those that had not been marked. */
  markMoved(): Entry[] {
    return this.entries.filter((entry) => {
      if (entry.moved || !this.isMoved(entry)) return false;
      entry.moved = true;
      return true;
    });
  }

  isMoved({ startTime, endTime, sentAt }: Entry): boolean {
    return this.timeline.revisions.some(
      ({ was, at }) =>
        at >= sentAt &&
        [startTime, endTime].some(
          (edge) => edge !== null && Math.abs(was.startTime - edge) <= EDGE_SECONDS,
        ),
    );
  }

  evaluate({ now, calendar, stopThresholdSeconds, window }: EvaluationContext): Evaluation {
    const periods = this.timeline.periods(this.latest);
    const classified = classify(this.entries, calendar);
    const stops = stopsIn(periods, { ...window, endTime: now }, now);
    const found = findOpenStops(stops, classified, stopThresholdSeconds);
    const goingOn = classified.find(
      ({ startTime, endTime, entry }) =>
        startTime <= now && now < endTime && entry.endTime === null,
    );
    const nextAt = Math.min(found.nextAt ?? Infinity, goingOn?.endTime ?? Infinity);
    return { tile: this.tile(found, goingOn?.entry), periods, classified, nextAt };
  }

  machineView({ tile, periods, classified }: Evaluation, window: Span): MachineView {
    return {
      tile,
      periods: periods.filter(({ endTime }) => endTime === null || endTime > window.startTime),
      settledUntil: this.latest?.settledUntil ?? null,
      entries: this.entries,
      classifications: classified
        .filter((span) => span.endTime > window.startTime && !isSentAgain(span))
        .map(({ startTime, endTime, entry: { entryId } }) => ({ entryId, startTime, endTime })),
      notes: this.notes,
      reasons: this.reasons,
      favourites: this.favourites(),
    };
  }

  /**
   * The codes used most in the latest entries, most used first; a stop counts once, however often its reason was sent.
   */
  favourites(): string[] {
    const byStop = new Map(
      this.entries
        .slice(-LATELY_ENTRIES)
        .filter(({ status }) => status !== 'rejected')
        .map(({ startTime, reasonId }) => [startTime, reasonId]),
    );
    const uses = new Map<string, number>();
    for (const reasonId of byStop.values()) uses.set(reasonId, (uses.get(reasonId) ?? 0) + 1);
    return [...uses]
      .sort(([, a], [, b]) => b - a)
      .slice(0, FAVOURITES)
      .map(([reasonId]) => reasonId);
  }

  private tile({ open, short }: Stops, goingOn: Entry | undefined): Tile {
    const { latest } = this;
    return {
      machineId: this.machineId,
      displayName: this.displayName,
      factoryId: this.factoryId,
      state: latest?.state ?? null,
      startTime: latest?.startTime ?? null,
      observation: latest?.observation ?? 'unknown',
      knownUntil: latest?.lastUpdateTime ?? null,
      workingOrders: this.workingOrders,
      openStops: open,
      shortStops: short,
      goingOn: goingOn === undefined ? null : goingOnOf(goingOn),
    };
  }
}

function goingOnOf({ entryId, reasonId, startTime }: Entry): NonNullable<Tile['goingOn']> {
  return { entryId, reasonId, startTime };
}

/**
 * Which reason applies when, in time order. Reasons without an outcome count as if applied, rejected ones do not.
 *
 * @param entries in the order in which they were sent
 */
export function classify(entries: readonly Entry[], calendar: ShiftCalendar): ClassifiedSpan[] {
  const received = entries
    .filter(({ status }) => status !== 'rejected')
    .map((entry) => {
      const { startTime, endTime, appliedAt, sentAt } = entry;
      const receivedAt = appliedAt ?? sentAt;
      return {
        startTime,
        endTime,
        receivedAt,
        shiftEndTime: calendar.shiftAt(receivedAt).endTime,
        entry,
      };
    });
  return classificationPeriods(received).map(({ startTime, endTime, call, endedBy }) => ({
    startTime,
    endTime,
    entry: call.entry,
    ...(endedBy !== null && { cut: { by: endedBy.entry, endTime: call.shiftEndTime } }),
  }));
}

/** Whether the span is the rest of an open-ended reason that was sent again with its end. */
function isSentAgain({ entry: { reasonId, startTime }, cut }: ClassifiedSpan): boolean {
  return cut?.by.reasonId === reasonId && cut.by.startTime === startTime;
}

/** A reason that the server sends by itself, because of an earlier one. */
export interface FollowUp {
  /** The same for one occasion, so that it is recorded once, whichever server sends it, and however often. */
  entryId: string;
  open: Entry;
  /** null: the reason is sent again unchanged. */
  endTime: number | null;
}

/**
 * The follow-ups of open-ended reasons that terminals have sent. A reason whose machine runs again is sent with that
 * time as its end; one whose stop the service has revised away, with the earliest end. One that the reason for an
 * earlier stop has ended at the service is sent again.
 */
export function dueFollowUps(
  machine: Machine,
  { periods, classified }: Evaluation,
  now: number,
  isKnown: (entryId: string) => boolean,
): FollowUp[] {
  return classified
    .filter(({ entry }) => entry.station !== null && entry.endTime === null)
    .flatMap((span): FollowUp[] => {
      const { entry: open, cut } = span;
      const endTime = knownEndOf(machine, periods, open.startTime, open.sentAt);
      if (endTime === undefined) {
        if (cut === undefined || cut.endTime <= now) return [];
        const isOfEarlierStop = (cut.by.endTime ?? Infinity) <= open.startTime;
        const isReplaced = classified.some(({ startTime }) => startTime >= span.endTime);
        if (!isOfEarlierStop || isReplaced) return [];
        const entryId = nameBasedUuid(open.entryId, 'again', cut.by.entryId);
        return [{ entryId, open, endTime: null }];
      }
      if (endTime < span.startTime || endTime >= span.endTime) return [];
      return [{ entryId: idOfEnd(open.entryId), open, endTime }];
    })
    .filter(({ entryId }) => !isKnown(entryId));
}

/**
 * The end of an open-ended reason, as far as known: when its machine first ran again, even if it has stopped since, or
 * the earliest end, if the service has revised its stop away.
 * @param madeAt when the reason was given
 */
export function knownEndOf(
  { timeline }: Pick<Machine, 'timeline'>,
  periods: readonly Period[],
  startTime: number,
  madeAt: number,
): number | undefined {
  if (timeline.wasRevisedAway(startTime, madeAt)) return startTime + LEAST_SECONDS;
  return periods.find((period) => period.state === 'OPERATING' && period.startTime > startTime)
    ?.startTime;
}

/** Id of the reason that the server sends with the end of an open-ended one. */
export function idOfEnd(entryId: string): string {
  return nameBasedUuid(entryId, 'end');
}

/** Random; namespace of the ids of follow-ups. */
const NAMESPACE = Buffer.from('6f1b7a2c4f0e4b7c9d3a51c0de8e27a4', 'hex');

/** UUID of version 5: the same for the same name. */
function nameBasedUuid(...name: readonly string[]): string {
  const hash = createHash('sha1').update(NAMESPACE).update(JSON.stringify(name)).digest();
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x50, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = hash.toString('hex', 0, 16);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** One machine in the hand-over of a shift; undefined if it neither stopped nor has notes. */
export function handOverOf(
  machine: Machine,
  { periods, classified, tile }: Evaluation,
  shift: Span,
  now: number,
): HandOver['machines'][number] | undefined {
  const stops = stopsIn(periods, { ...shift, endTime: Math.min(shift.endTime, now) }, now);
  const notes = machine.notes.filter(
    ({ startTime }) => startTime >= shift.startTime && startTime < shift.endTime,
  );
  if (stops.length === 0 && notes.length === 0) return undefined;
  const seconds = new Map<string, number>();
  for (const stop of stops) {
    for (const { startTime, endTime, entry } of classified) {
      const part = clippedTo({ startTime, endTime }, stop);
      if (part === undefined) continue;
      const before = seconds.get(entry.reasonId) ?? 0;
      seconds.set(entry.reasonId, before + part.endTime - part.startTime);
    }
  }
  // only parts longer than the threshold need a reason
  const unexplained = tile.openStops.flatMap(
    ({ startTime, endTime }) => clippedTo({ startTime, endTime: endTime ?? now }, shift) ?? [],
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
