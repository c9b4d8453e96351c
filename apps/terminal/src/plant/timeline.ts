import {
  type MachineState,
  type MachineStateRecord,
  STATE_EVENT_TYPES,
  type StateChanged,
  type StateEvent,
} from '#libs/contracts';
import type { Period } from './periods.js';

/** What stands of a period: the latest event on it. */
interface Row {
  /** Id of the first event on it. */
  id: string;
  /** Since when this is known, epoch seconds. */
  knownAt: number;
  state: MachineState;
  startTime: number;
  previousState: MachineState | null;
  previousStartTime: number | null;
  previousEndTime: number | undefined;
  revision: number;
}

/** A period as it was known until a correction moved its start, or took back its state; epoch seconds. */
interface Revision {
  was: Row;
  at: number;
}

/** Less than what the service knows of is no difference. */
const MINUTE = 60;
/** More of one machine in two shifts would be one a minute for longer than they last. */
const MAX_ROWS = 3000;
const MAX_REVISIONS = 200;

/**
 * The periods of one machine's events, as docs/machine-states.md says how to read them: a row for each `changed` event,
 * overwritten by the `corrected` event that names it. Holes that `historyTruncatedBefore` announces are a month old,
 * and out of sight here.
 */
export class Timeline {
  readonly revisions: Revision[] = [];
  private readonly rows = new Map<string, Row>();
  /** From when on nothing is known, while that is so. */
  private lostSince: number | undefined;
  private cached: readonly Period[] | undefined;

  /** @param id the event's `ce_id` */
  apply(id: string, event: StateEvent): void {
    this.cached = undefined;
    switch (event.type) {
      case STATE_EVENT_TYPES.changed:
        this.rows.set(id, rowOf(id, event.data));
        break;
      case STATE_EVENT_TYPES.corrected:
        this.correct(id, event.data.corrects, rowOf(id, event.data));
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
    if (this.rows.size > MAX_ROWS) this.forgetFirst();
  }

  /**
   * In time order, without overlap; null states where nothing is known. Open at its end.
   *
   * @param latest the latest state, for a machine that has no events in what was read
   */
  periods(latest: MachineStateRecord | undefined): readonly Period[] {
    if (this.rows.size === 0) return periodsOf(latest, this.lostSince);
    return (this.cached ??= fold([...this.rows.values()], this.lostSince));
  }

  /** Forgets periods that ended by then. */
  forgetBefore(time: number): void {
    const rows = [...this.rows].sort(([, a], [, b]) => a.startTime - b.startTime);
    for (const [index, [id]] of rows.entries()) {
      const next = rows[index + 1]?.[1];
      if (next === undefined || next.startTime > time) break;
      this.rows.delete(id);
    }
    const kept = this.revisions.filter(({ at }) => at > time);
    this.revisions.splice(0, this.revisions.length, ...kept);
    this.cached = undefined;
  }

  /**
   * Whether the machine stood still at a time, as far as was known then, and ran, as far as is known now. A stop that
   * was moved, and begins later, is not taken back.
   */
  isTakenBack(time: number, knownAt: number): boolean {
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

  private correct(id: string, corrects: string, row: Row): void {
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

  private forgetFirst(): void {
    const [first] = this.rows.keys();
    if (first !== undefined) this.rows.delete(first);
  }
}

function rowOf(id: string, data: StateChanged): Row {
  const { state, startTime, previousState, previousStartTime, previousEndTime, revision } = data;
  const previous = { previousState, previousStartTime, previousEndTime };
  return { id, knownAt: data.detectedAt, state, startTime, ...previous, revision };
}

/** A period that was published by mistake is corrected to be its own predecessor, and lasts no time. */
function inOrder(rows: readonly Row[]): Row[] {
  return rows
    .filter((it) => it.state !== it.previousState || it.startTime !== it.previousStartTime)
    .sort((a, b) => a.startTime - b.startTime);
}

function rowAt(time: number, rows: readonly Row[]): Row | undefined {
  return inOrder(rows).findLast(({ startTime }) => startTime <= time);
}

function fold(rows: readonly Row[], lostSince: number | undefined): Period[] {
  const standing = inOrder(rows);
  const timeline = new PeriodList();
  const [first] = standing;
  if (first?.previousState != null && first.previousStartTime !== null) {
    const endTime = first.previousEndTime ?? first.startTime;
    timeline.add({ state: first.previousState, startTime: first.previousStartTime, endTime }, 0);
  }
  for (const [index, { state, startTime, revision }] of standing.entries()) {
    const next = standing[index + 1];
    const endTime = next === undefined ? null : (next.previousEndTime ?? next.startTime);
    timeline.add({ state, startTime, endTime }, revision);
  }
  return timeline.endingWith(lostSince);
}

function periodsOf(
  latest: MachineStateRecord | undefined,
  lostSince: number | undefined,
): readonly Period[] {
  if (latest?.state == null || latest.startTime === null) return [];
  const timeline = new PeriodList();
  timeline.add({ state: latest.state, startTime: latest.startTime, endTime: null }, 0);
  const isLost = latest.observation !== 'ok';
  return timeline.endingWith(
    lostSince ?? (isLost ? (latest.lastUpdateTime ?? undefined) : undefined),
  );
}

/** Periods one after the other, with what lies between them. */
class PeriodList {
  private readonly periods: Period[] = [];

  add(period: Omit<Period, 'revision'>, revision: number): void {
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

  endingWith(lostSince: number | undefined): Period[] {
    const last = this.periods.at(-1);
    if (lostSince === undefined || last === undefined) return this.periods;
    const startTime = Math.max(lostSince, last.startTime);
    if (startTime === last.startTime) this.periods.pop();
    else last.endTime = startTime;
    this.periods.push({ state: null, startTime, endTime: null, revision: 0 });
    return this.periods;
  }
}
