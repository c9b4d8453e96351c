import {
  type MachineState,
  type MachineStateRecord,
  STATE_EVENT_TYPES,
  type StateChanged,
  type StateEvent,
} from '#libs/contracts';
import type { Period } from './periods.js';

/** The latest event on one period. */
interface Row {
  /** Of the first event on the period. */
  id: string;
  /** Since when the state and its start are known, epoch seconds. */
  knownAt: number;
  state: MachineState;
  startTime: number;
  previousState: MachineState | null;
  previousStartTime: number | null;
  previousEndTime: number | undefined;
  revision: number;
}

/** A period before a correction moved its start or changed its state; epoch seconds. */
interface Revision {
  was: Row;
  at: number;
}

/** A start that moved by less is the same: the service's resolution is a minute. */
const MINUTE = 60;
/** One a minute for 50 hours, longer than two shifts. */
const MAX_ROWS = 3000;
const MAX_REVISIONS = 200;

/**
 * The periods of one machine, folded from its events as docs/machine-states.md describes: a row for each `changed`
 * event, replaced by the `corrected` event that names it. The gaps that `historyTruncatedBefore` announces are a month
 * old, and out of range here.
 */
export class Timeline {
  readonly revisions: Revision[] = [];
  private readonly rows = new Map<string, Row>();
  /** Start of the time in which nothing is known, while it continues. */
  private lostSince: number | undefined;
  private cached: readonly Period[] | undefined;

  /** @param id the event's `ce_id` */
  applyEvent(id: string, event: StateEvent): void {
    this.cached = undefined;
    switch (event.type) {
      case STATE_EVENT_TYPES.changed:
        this.rows.set(id, rowOf(id, event.data));
        break;
      case STATE_EVENT_TYPES.corrected:
        this.applyCorrection(id, event.data.corrects, rowOf(id, event.data));
        break;
      case STATE_EVENT_TYPES.observationLost:
        this.lostSince = event.data.since;
        break;
      case STATE_EVENT_TYPES.observationRestored:
        this.lostSince = undefined;
        break;
      default:
        return event satisfies never;
    }
    const [first] = this.rows.keys();
    if (this.rows.size > MAX_ROWS && first !== undefined) this.rows.delete(first);
  }

  /**
   * Periods in time order, without overlap, the last one open-ended; the state is null where nothing is known.
   *
   * @param latest the latest state, for a machine without events in the last two shifts
   */
  periods(latest: MachineStateRecord | undefined): readonly Period[] {
    if (this.rows.size === 0) return periodsOfState(latest, this.lostSince);
    return (this.cached ??= periodsOfRows([...this.rows.values()], this.lostSince));
  }

  /** Forgets periods that ended before `time`. */
  forgetPeriodsBefore(time: number): void {
    const current = rowAt(time, [...this.rows.values()]);
    for (const [id, row] of this.rows) {
      if (current !== undefined && row !== current && row.startTime <= time) this.rows.delete(id);
    }
    const kept = this.revisions.filter(({ at }) => at > time);
    this.revisions.splice(0, this.revisions.length, ...kept);
    this.cached = undefined;
  }

  /**
   * Whether a stop was known at `time` that the service has revised away since: by now the machine ran then. A stop
   * that was moved to begin later is not revised away.
   *
   * @param knownAt when the stop was known
   */
  wasRevisedAway(time: number, knownAt: number): boolean {
    const rows = [...this.rows.values()];
    const revised = this.revisions.filter(({ at }) => at >= knownAt).map(({ was }) => was);
    const stop = rowAt(
      time,
      [...rows, ...revised].filter((row) => row.knownAt <= knownAt),
    );
    if (stop === undefined || stop.state === 'OPERATING') return false;
    const isMoved = rows.some(
      (row) => row.id === stop.id && row.state !== 'OPERATING' && row.startTime > time,
    );
    return !isMoved && rowAt(time, rows)?.state === 'OPERATING';
  }

  private applyCorrection(id: string, corrects: string, row: Row): void {
    const before = this.rows.get(corrects);
    this.rows.delete(corrects);
    this.rows.set(id, row);
    if (before === undefined) return;
    row.id = before.id;
    const isMoved = Math.abs(before.startTime - row.startTime) >= MINUTE;
    if (isMoved || before.state !== row.state) {
      this.revisions.push({ was: before, at: row.knownAt });
      if (this.revisions.length > MAX_REVISIONS) this.revisions.shift();
    } else row.knownAt = before.knownAt;
  }
}

function rowOf(id: string, data: StateChanged): Row {
  const { state, startTime, previousState, previousStartTime, previousEndTime, revision } = data;
  const previous = { previousState, previousStartTime, previousEndTime };
  return { id, knownAt: data.detectedAt, state, startTime, ...previous, revision };
}

/**
 * Rows by start time. A correction makes one that was published by mistake equal to its own predecessor: it is left
 * out, unless that one is not there. It may have been published before the events that were read.
 */
function sortedRows(rows: readonly Row[]): Row[] {
  const nameOf = ({ state, startTime }: Row): string => `${state} ${startTime}`;
  const isMistake = (it: Row): boolean =>
    it.state === it.previousState && it.startTime === it.previousStartTime;
  const shown = new Set(rows.filter((it) => !isMistake(it)).map(nameOf));
  return rows
    .filter((it) => {
      if (!isMistake(it)) return true;
      const isMissing = !shown.has(nameOf(it));
      shown.add(nameOf(it));
      return isMissing;
    })
    .sort((a, b) => a.startTime - b.startTime);
}

function rowAt(time: number, rows: readonly Row[]): Row | undefined {
  return sortedRows(rows).findLast(({ startTime }) => startTime <= time);
}

function periodsOfRows(rows: readonly Row[], lostSince: number | undefined): Period[] {
  const sorted = sortedRows(rows);
  const timeline = new PeriodList();
  const [first] = sorted;
  if (first?.previousState != null && first.previousStartTime !== null) {
    const endTime = first.previousEndTime ?? first.startTime;
    timeline.appendPeriod(
      { state: first.previousState, startTime: first.previousStartTime, endTime },
      0,
    );
  }
  for (const [index, { state, startTime, revision }] of sorted.entries()) {
    const next = sorted[index + 1];
    const endTime = next === undefined ? null : (next.previousEndTime ?? next.startTime);
    timeline.appendPeriod({ state, startTime, endTime }, revision);
  }
  return timeline.withLoss(lostSince);
}

function periodsOfState(
  latest: MachineStateRecord | undefined,
  lostSince: number | undefined,
): readonly Period[] {
  if (latest?.state == null || latest.startTime === null) return [];
  const timeline = new PeriodList();
  timeline.appendPeriod({ state: latest.state, startTime: latest.startTime, endTime: null }, 0);
  const isLost = latest.observation !== 'ok';
  return timeline.withLoss(
    lostSince ?? (isLost ? (latest.lastUpdateTime ?? undefined) : undefined),
  );
}

/** Collects periods in time order; fills gaps with unknown state and joins equal neighbours. */
class PeriodList {
  private readonly periods: Period[] = [];

  appendPeriod(period: Omit<Period, 'revision'>, revision: number): void {
    const last = this.periods.at(-1);
    const startTime = Math.max(period.startTime, last?.endTime ?? -Infinity);
    if (period.endTime !== null && period.endTime <= startTime) return;
    if (last?.endTime != null && last.endTime < startTime) {
      this.periods.push({ state: null, startTime: last.endTime, endTime: startTime, revision: 0 });
    }
    const before = this.periods.at(-1);
    if (before?.state === period.state && before.endTime === startTime) {
      before.endTime = period.endTime;
      before.revision = Math.max(before.revision, revision);
    } else this.periods.push({ ...period, startTime, revision });
  }

  withLoss(lostSince: number | undefined): Period[] {
    const last = this.periods.at(-1);
    if (lostSince === undefined || last === undefined) return this.periods;
    const startTime = Math.max(lostSince, last.startTime);
    if (startTime === last.startTime) this.periods.pop();
    else last.endTime = startTime;
    this.periods.push({ state: null, startTime, endTime: null, revision: 0 });
    return this.periods;
  }
}
