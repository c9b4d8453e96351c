import type { Entry, NewEntry, NewNote, Session } from '../../../src/api/index.js';
import { type Period, subtractPeriods } from './periods.js';

/** How long an entry waits before it is sent and can be taken back, real milliseconds. */
export const UNDO_MS = 10_000;

export interface Stop extends Period {
  state: 'IDLE' | 'OFF' | 'OPERATING';
}

/**
 * `waiting` to be sent, first for its undo time → `sent`: stored by Kafka → `applied` | `rejected` by the bridge, via
 * `deferred` while the service is unreachable. `unconfirmed`: the machine ran in that time, and the operator has to
 * confirm. `refused`: the terminal's server will never accept it. `unanswered`: sent so long ago that the server has
 * forgotten it, without a known outcome.
 */
export type OutgoingStatus =
  | 'waiting'
  | 'sent'
  | 'deferred'
  | 'applied'
  | 'rejected'
  | 'unconfirmed'
  | 'refused'
  | 'unanswered';

/** A reason or note made on this page, as stored in IndexedDB. */
interface OutgoingBase extends Period {
  /** A UUID made before the first try, by which the server recognises a repeated request. */
  id: string;
  machineId: string;
  machineName: string;
  status: OutgoingStatus;
  /** Plant time, epoch seconds. */
  madeAt: number;
  /** The operator registered then; null for nobody. */
  operator: string | null;
  /** Real time, epoch milliseconds. */
  sendAfterMs: number;
  /** It may have reached the server: it does not change any more and cannot be taken back. */
  tried: boolean;
  code: string | null;
  detail: string | null;
  /** When it reached its last status, real time, epoch milliseconds. */
  settledAtMs: number | null;
}

export interface OutgoingReason extends OutgoingBase {
  kind: 'reason';
  reasonId: string;
  reasonName: string;
  /** Reasons given together share it, and can be taken back together. */
  batchId: string;
  overOperating: boolean;
  /** The stop as shown when the reason was given; its row keeps its place until the outcome has been shown. */
  stop: Stop;
}

export interface OutgoingNote extends OutgoingBase {
  kind: 'note';
  text: string;
}

export type Outgoing = OutgoingReason | OutgoingNote;

export type RowStatus = 'undo' | 'queued' | 'sending' | Exclude<OutgoingStatus, 'waiting'>;

export function rowStatus(entry: Outgoing, nowMs: number, sending: ReadonlySet<string>): RowStatus {
  if (entry.status !== 'waiting') return entry.status;
  if (sending.has(entry.id)) return 'sending';
  return entry.tried || isDue(entry, nowMs) ? 'queued' : 'undo';
}

/** Whether it is to be sent: its undo time is over, or the device's clock has been set back since it was made. */
export function isDue({ status, sendAfterMs }: Outgoing, nowMs: number): boolean {
  return status === 'waiting' && (sendAfterMs <= nowMs || sendAfterMs > nowMs + 2 * UNDO_MS);
}

/** Whether the entry explains its period, as far as known. */
export function explains({ status }: { status: OutgoingStatus | Entry['status'] }): boolean {
  return status !== 'rejected' && status !== 'refused' && status !== 'unconfirmed';
}

/**
 * Whether an entry may cover this open stop. An open-ended one covers no stop that began after it was made: the machine
 * may have run in between. Once the bridge has answered, the server's open stops take the entry into account, and a
 * later start belongs to another stop.
 */
export function mayCover(entry: OutgoingReason, { startTime }: Period): boolean {
  const isAnswered = entry.status === 'applied' || entry.status === 'deferred';
  return (
    entry.endTime !== null ||
    startTime <= (isAnswered ? entry.startTime : Math.max(entry.startTime, entry.madeAt))
  );
}

/** The parts of an open stop that the entries made here do not explain. */
export function unexplainedParts(stop: Period, entries: readonly OutgoingReason[]): Period[] {
  return subtractPeriods(
    stop,
    entries.filter((entry) => explains(entry) && mayCover(entry, stop)),
  );
}

/** The reasons last given together, while more than one of them can be taken back. */
export function undoableBatch(entries: readonly Outgoing[], nowMs: number): OutgoingReason[] {
  const undoable = entries.filter(
    (entry) => entry.kind === 'reason' && rowStatus(entry, nowMs, new Set()) === 'undo',
  ) as OutgoingReason[];
  const batchId = undoable.at(-1)?.batchId;
  const batch = undoable.filter((entry) => entry.batchId === batchId);
  return batch.length > 1 ? batch : [];
}

function isFinal({ status }: { status: OutgoingStatus }): boolean {
  return ['applied', 'rejected', 'refused', 'unanswered'].includes(status);
}

/** Whether it is stored by Kafka and waits for its outcome. */
export function awaitsOutcome({ status }: { status: OutgoingStatus }): boolean {
  return status === 'sent' || status === 'deferred';
}

/** The entry as `unanswered` if the server has forgotten it: it keeps no entries from before the last shift. */
export function markUnanswered(
  entry: Outgoing,
  { lastShiftStart, sentAt, nowMs }: { lastShiftStart: number; sentAt: number; nowMs: number },
): Outgoing {
  const latest = Math.max(entry.startTime, entry.endTime ?? 0, sentAt);
  if (!awaitsOutcome(entry) || latest >= lastShiftStart) return entry;
  return { ...entry, status: 'unanswered', settledAtMs: nowMs };
}

/** Entries whose undo time is over and that have not reached Kafka, as "12 not sent since 13:58"; null for none. */
export function unsent(
  entries: readonly Outgoing[],
  nowMs: number,
): { count: number; since: number } | null {
  const late = entries.filter((entry) => isDue(entry, nowMs));
  if (late.length === 0) return null;
  return { count: late.length, since: Math.min(...late.map(({ madeAt }) => madeAt)) };
}

/**
 * The order of sending: by the plant's time of making, since the device's clock may be set back between a reason and
 * its correction; of entries made together the open-ended ones last, because the service ends an open-ended reason when
 * a later one with an end arrives.
 */
export function compareSending(a: Outgoing, b: Outgoing): number {
  const isOpen = ({ endTime }: Outgoing): number => (endTime === null ? 1 : 0);
  const byMaking = a.madeAt - b.madeAt || a.sendAfterMs - b.sendAfterMs;
  return byMaking || isOpen(a) - isOpen(b) || a.startTime - b.startTime;
}

/** Final entries are removed after this time, others never. */
const KEEP_FINAL_MS = 24 * 3600_000;

export function isForgotten(entry: Outgoing, nowMs: number): boolean {
  return isFinal(entry) && nowMs - (entry.settledAtMs ?? 0) > KEEP_FINAL_MS;
}

/** Applies the server's answer to an entry, or that to the reason which ends it. */
export function applyAnswer(entry: Outgoing, answer: Entry, nowMs: number): Outgoing {
  return withEnd(entry.id === answer.entryId ? withStatus(entry, answer, nowMs) : entry, answer);
}

function withStatus(entry: Outgoing, answer: Entry, nowMs: number): Outgoing {
  if (entry.status === answer.status) return entry;
  // a late answer changes nothing after the final one
  if (isFinal(entry) && entry.status !== 'unanswered') return entry;
  return {
    ...entry,
    status: answer.status,
    tried: true,
    code: answer.code,
    detail: answer.detail,
    settledAtMs: answer.status === 'applied' || answer.status === 'rejected' ? nowMs : null,
  };
}

/**
 * Gives an open-ended reason its end: that which the server has added to it, as its stop was over, or that of a later
 * one from the same start, the follow-up that the server sends.
 */
function withEnd(entry: Outgoing, { machineId, startTime, endTime, ...later }: Entry): Outgoing {
  const isOpen =
    entry.kind === 'reason' &&
    entry.endTime === null &&
    entry.status !== 'waiting' &&
    explains(entry);
  if (!isOpen || endTime === null || !explains(later) || later.sentAt < entry.madeAt) return entry;
  if (entry.machineId !== machineId || entry.startTime !== startTime) return entry;
  return { ...entry, endTime, stop: { ...entry.stop, endTime: entry.stop.endTime ?? endTime } };
}

/** The operator registered at a time (epoch seconds of the plant): offline, a page gets no event when a shift ends. */
export function operatorAt(
  session: Pick<Session, 'operator' | 'shifts'> | null,
  time: number,
): string | null {
  const shiftEnd = session?.shifts[0]?.endTime ?? Infinity;
  return session && time < shiftEnd ? session.operator : null;
}

export function toNewEntry(entry: OutgoingReason): NewEntry {
  const { id: entryId, machineId, reasonId, startTime, endTime, operator, madeAt } = entry;
  const what = { entryId, machineId, reasonId, startTime, endTime, operator, madeAt };
  return { ...what, ...(entry.overOperating ? { overOperating: true } : {}) };
}

export function toNewNote(note: OutgoingNote): NewNote {
  const { id: noteId, machineId, startTime, endTime, text, operator, madeAt } = note;
  return { noteId, machineId, startTime, endTime, text, operator, madeAt };
}
