import type { Entry, MachineView, NewEntry, NewNote, Session } from '../../../src/api/index.js';
import { type Period, without } from './periods.js';

/** How long an entry can be taken back, in real milliseconds: until then it is not sent. */
export const UNDO_MS = 10_000;

export interface Stop extends Period {
  state: 'IDLE' | 'OFF' | 'OPERATING';
}

/**
 * `waiting` to be sent (for its undo time first) → `sent`: Kafka has it → `applied` | `rejected` by the bridge, by
 * way of `deferred` where the service is away. `unconfirmed`: the machine ran in that time, the operator has to say so
 * again. `refused`: the terminal's server will never take it. `unanswered`: it was sent so long ago that the server has
 * forgotten it, and no answer was heard.
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

/** A reason or note that was made on this page, as IndexedDB keeps it. */
interface OutgoingBase extends Period {
  /** A UUID made once, before the first try: the server knows a repetition by it. */
  id: string;
  machineId: string;
  machineName: string;
  status: OutgoingStatus;
  /** Plant time, epoch seconds. */
  madeAt: number;
  /** Who worked here then; null: nobody was registered. */
  operator: string | null;
  /** Real time, epoch milliseconds. */
  sendAfterMs: number;
  /** It may have reached the server: from now on nothing in it changes and it cannot be taken back. */
  tried: boolean;
  code: string | null;
  detail: string | null;
  /** Real time, epoch milliseconds: when its last status was reached. */
  settledAtMs: number | null;
}

export interface OutgoingReason extends OutgoingBase {
  kind: 'reason';
  reasonId: string;
  reasonName: string;
  /** Given together with others that have the same: taken back together. */
  batchId: string;
  overOperating: boolean;
  /** The stop that it was made for, as shown then: its row stays where it is until the answer has been seen. */
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

/** Whether it is to be sent: its undo time is over, or was set before the device's clock was set back. */
export function isDue({ status, sendAfterMs }: Outgoing, nowMs: number): boolean {
  return status === 'waiting' && (sendAfterMs <= nowMs || sendAfterMs > nowMs + 2 * UNDO_MS);
}

/** Whether the entry still explains its period, as far as is known. */
export function stands({ status }: { status: OutgoingStatus | Entry['status'] }): boolean {
  return status !== 'rejected' && status !== 'refused' && status !== 'unconfirmed';
}

/**
 * Whether an entry may cover this open stop. An open-ended one covers no stop that began after it was made: the
 * machine may have run in between. Once the bridge has answered, the server's list of open stops allows for the
 * entry, and a later start is that of another stop.
 */
export function mayCover(entry: OutgoingReason, { startTime }: Period): boolean {
  const isAnswered = entry.status === 'applied' || entry.status === 'deferred';
  return (
    entry.endTime !== null ||
    startTime <= (isAnswered ? entry.startTime : Math.max(entry.startTime, entry.madeAt))
  );
}

/** What of an open stop the entries made here leave without a reason. */
export function unexplained(stop: Period, entries: readonly OutgoingReason[]): Period[] {
  return without(
    stop,
    entries.filter((entry) => stands(entry) && mayCover(entry, stop)),
  );
}

/** The reasons last given together, for as long as more than one of them can be taken back. */
export function undoableBatch(entries: readonly Outgoing[], nowMs: number): OutgoingReason[] {
  const undoable = entries.filter(
    (entry) => entry.kind === 'reason' && rowStatus(entry, nowMs, NONE) === 'undo',
  ) as OutgoingReason[];
  const batchId = undoable.at(-1)?.batchId;
  const batch = undoable.filter((entry) => entry.batchId === batchId);
  return batch.length > 1 ? batch : [];
}

const NONE: ReadonlySet<string> = new Set();

function isFinal({ status }: { status: OutgoingStatus }): boolean {
  return ['applied', 'rejected', 'refused', 'unanswered'].includes(status);
}

/** Whether it is on Kafka, and its answer is still to come. */
export function isUnderWay({ status }: { status: OutgoingStatus }): boolean {
  return status === 'sent' || status === 'deferred';
}

/** An entry that was sent and that the server does not know: it forgets what it read before the last shift. */
export function withoutAnswer(
  entry: Outgoing,
  { lastShiftStart, sentAt, nowMs }: { lastShiftStart: number; sentAt: number; nowMs: number },
): Outgoing {
  const latest = Math.max(entry.startTime, entry.endTime ?? 0, sentAt);
  if (!isUnderWay(entry) || latest >= lastShiftStart) return entry;
  return { ...entry, status: 'unanswered', settledAtMs: nowMs };
}

/** What has not reached Kafka and is past its undo time: the "12 not sent since 13:58". */
export function unsent(
  entries: readonly Outgoing[],
  nowMs: number,
): { count: number; since: number } | null {
  const late = entries.filter((entry) => isDue(entry, nowMs));
  if (late.length === 0) return null;
  return { count: late.length, since: Math.min(...late.map(({ madeAt }) => madeAt)) };
}

/**
 * The order in which entries are sent: as they were made, by the plant's time, for the device's may be set back
 * between a reason and its correction; of those made together the open-ended last, because the service ends an
 * open-ended reason when a later one with an end arrives.
 */
export function compareSending(a: Outgoing, b: Outgoing): number {
  const isOpen = ({ endTime }: Outgoing): number => (endTime === null ? 1 : 0);
  const byMaking = a.madeAt - b.madeAt || a.sendAfterMs - b.sendAfterMs;
  return byMaking || isOpen(a) - isOpen(b) || a.startTime - b.startTime;
}

/** Final entries older than this are forgotten; all others are kept for as long as it takes. */
const KEEP_FINAL_MS = 24 * 3600_000;

export function isForgotten(entry: Outgoing, nowMs: number): boolean {
  return isFinal(entry) && nowMs - (entry.settledAtMs ?? 0) > KEEP_FINAL_MS;
}

/**
 * An open-ended reason whose stop has ended while it waited gets that end, as long as it was not sent: the server
 * would rightly say that the machine has been running since. The end is where the machine first ran after it, not
 * the start of its present run: it may have stopped again in between.
 */
export function withKnownEnd(entry: Outgoing, periods: MachineView['periods']): Outgoing {
  if (entry.tried || entry.kind !== 'reason' || entry.endTime !== null) return entry;
  const isRemembered = periods.some(({ startTime }) => startTime <= entry.startTime);
  if (!isRemembered) return entry;
  const endTime = periods.find(
    ({ state, startTime }) => state === 'OPERATING' && startTime > entry.startTime,
  )?.startTime;
  return endTime === undefined ? entry : endedAt(entry, endTime);
}

function endedAt(entry: OutgoingReason, endTime: number): OutgoingReason {
  return { ...entry, endTime, stop: { ...entry.stop, endTime: entry.stop.endTime ?? endTime } };
}

/** What the server says of an entry, or of the one that ends it, taken over into the one kept here. */
export function withAnswer(entry: Outgoing, answer: Entry, nowMs: number): Outgoing {
  if (entry.id !== answer.entryId) return withFollowUp(entry, answer);
  if (entry.status === answer.status) return entry;
  // an answer that was overtaken by the final one says nothing
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

/** An open-ended reason that was sent ends where a later one from the same start does: the server sends that one. */
function withFollowUp(
  entry: Outgoing,
  { machineId, startTime, endTime, ...later }: Entry,
): Outgoing {
  const isOpen =
    entry.kind === 'reason' &&
    entry.endTime === null &&
    entry.status !== 'waiting' &&
    stands(entry);
  if (!isOpen || endTime === null || !stands(later) || later.sentAt < entry.madeAt) return entry;
  if (entry.machineId !== machineId || entry.startTime !== startTime) return entry;
  return endedAt(entry, endTime);
}

/** Who is registered then (epoch seconds of the plant): a page that is offline gets no event when a shift ends. */
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
