/**
 * Entries made on this page on their way to the server: kept in IndexedDB from the first moment, sent once their
 * undo time is over, and again for as long as the server is away.
 *
 * Several tabs share one database. A round of sending holds the Web Lock LOCK, so that one tab at a time sends;
 * where there are no Web Locks (plain http) two tabs may send the same entry, which the server knows by its id.
 * A browser that may store nothing refuses locks as well: its tabs share no entries.
 * Before an entry is sent for the first time it is marked `tried` in a transaction of its own; undo takes away
 * only what is not marked, in a transaction as well: an entry is either taken back or sent, never both.
 */
import { computed, signal } from '@preact/signals';
import type { Entry, MachineView } from '../../../src/api/index.js';
import { type Answer, backOffMs, call, readMachine } from './api-client.js';
import {
  compareSending,
  isDue,
  isForgotten,
  type Outgoing,
  toNewEntry,
  toNewNote,
  unsent,
  withAnswer,
  withKnownEnd,
  withoutAnswer,
} from '../model/outgoing.js';
import { nowMs, plantSeconds, tick } from './clock.js';
import { connection, session, showToast, signInNeeded, strings, tileOf } from './store.js';

const LOCK = 'machine-terminal-outbox';
/** A request's body may have 64 kB, and names and texts of the longest have to fit. */
const BATCH = { reason: 50, note: 8 };
type Kind = Outgoing['kind'];
const KINDS: readonly Kind[] = ['reason', 'note'];
const KEEP_AGAIN_MS = 20_000;
const MAX_BACK_OFF_MS = 30_000;

/** Of each record of a request, in the order of these. */
interface Result {
  ok: boolean;
  code?: string | null;
  message?: string | null;
}

export const outgoing = signal<readonly Outgoing[]>([]);
/** Ids that are being sent right now by this tab. */
export const sending = signal<ReadonlySet<string>>(new Set());
/** false: the browser gives no database; entries live only as long as the page. */
export const isKept = signal(true);
export const unsentEntries = computed(() => unsent(outgoing.value, tick.value));

const tabs = channelOfTabs();
let database: IDBDatabase | null = null;
/**
 * Entries that this page has had since the database takes none, as they were at first, by id: what the database has
 * besides is of other tabs.
 */
const own = new Map<string, Outgoing>();
/** Of each kind: one may be taken while the other is not. */
const tries = { reason: { failures: 0, nextAtMs: 0 }, note: { failures: 0, nextAtMs: 0 } };
let isSending = false;

export async function openOutbox(): Promise<void> {
  try {
    database = await openDatabase();
    // not there on plain http
    if ('storage' in navigator) void navigator.storage.persist().catch(() => false);
  } catch {
    isKept.value = false;
  }
  await addEntries([]);
  if (tabs) tabs.onmessage = () => void reload();
  tick.subscribe(() => void sendDue());
  setInterval(() => void keepAgain(), KEEP_AGAIN_MS);
  window.addEventListener('online', sendSoon);
}

/** The way is free again: no need to wait out the back-off. */
export function sendSoon(): void {
  for (const kind of KINDS) tries[kind].nextAtMs = 0;
  void sendDue();
}

/** Forgets those that have been answered long since: a page may be open for months. */
export async function addEntries(entries: readonly Outgoing[]): Promise<void> {
  await change((known) => [...known.filter((entry) => !isForgotten(entry, nowMs())), ...entries]);
}

/** Takes back those of these that were not sent. */
export async function takeBack(ids: readonly string[]): Promise<void> {
  await change((entries) =>
    entries.filter(({ id, status, tried }) => !ids.includes(id) || status !== 'waiting' || tried),
  );
}

/** Forgets an entry that was refused. */
export async function discardEntry(id: string): Promise<void> {
  await change((entries) => entries.filter((entry) => entry.id !== id));
}

/** Sends an entry over time in which the machine ran, after all. */
export async function confirmOverOperating(id: string): Promise<void> {
  await change((entries) =>
    entries.map((entry) =>
      entry.id === id && entry.kind === 'reason' && entry.status === 'unconfirmed'
        ? { ...entry, status: 'waiting', overOperating: true, sendAfterMs: 0 }
        : entry,
    ),
  );
  sendSoon();
}

/**
 * What the server says of entries made here, and of those that end them.
 *
 * @param asked ids of which it was asked, and has said all that it knows
 */
export async function takeAnswers(
  answers: readonly Entry[],
  asked: readonly string[] = [],
): Promise<void> {
  const unknown = new Set(asked);
  for (const { entryId } of answers) unknown.delete(entryId);
  const lastShiftStart = session.peek()?.shifts[1]?.startTime ?? -Infinity;
  const answered = (entry: Outgoing): Outgoing => {
    if (unknown.has(entry.id)) {
      const sentAt = entry.settledAtMs === null ? entry.madeAt : plantSeconds(entry.settledAtMs);
      return withoutAnswer(entry, { lastShiftStart, sentAt, nowMs: nowMs() });
    }
    return answers.reduce((latest, answer) => withAnswer(latest, answer, nowMs()), entry);
  };
  if (outgoing.peek().every((entry) => answered(entry) === entry)) return;
  await change((entries) => entries.map(answered));
}

/** Null in Firefox where it may store nothing. */
function channelOfTabs(): BroadcastChannel | null {
  try {
    return new BroadcastChannel('machine-terminal-outbox');
  } catch {
    return null;
  }
}

async function sendDue(): Promise<void> {
  const now = nowMs();
  const due = KINDS.filter(
    (kind) =>
      now >= tries[kind].nextAtMs &&
      outgoing.peek().some((entry) => entry.kind === kind && isDue(entry, now)),
  );
  if (isSending || due.length === 0 || signInNeeded.peek()) return;
  isSending = true;
  try {
    await exclusively(async () => {
      for (const kind of due) await sendRound(kind);
    });
  } finally {
    isSending = false;
    sending.value = new Set();
  }
}

async function exclusively(work: () => Promise<void>): Promise<void> {
  if (!database || !('locks' in navigator)) return work();
  await navigator.locks.request(LOCK, { ifAvailable: true }, async (lock) => {
    if (lock) await work();
  });
}

async function sendRound(kind: Kind): Promise<void> {
  const batch = await claim(kind, kind === 'reason' ? await readPeriods() : new Map());
  if (batch.length === 0) return;
  sending.value = new Set(batch.map(({ id }) => id));
  await sendBatch(kind, batch);
}

/** Returns whether the server answers. */
async function sendBatch(kind: Kind, batch: readonly Outgoing[]): Promise<boolean> {
  const answer = await post(batch);
  if (answer.ok) {
    tries[kind].failures = 0;
    await takeResults(batch, answer.value.results);
    return true;
  }
  if (answer.kind !== 'refused') {
    const backOff = backOffMs(tries[kind].failures++, MAX_BACK_OFF_MS);
    tries[kind].nextAtMs = nowMs() + Math.max(backOff, answer.retryAfterMs);
    return false;
  }
  const { code, message } = answer;
  const results = answer.body['results'] as Result[] | undefined;
  if (results === undefined && batch.length > 1) {
    // too large together, or one of them is at fault: halves find it
    const middle = Math.ceil(batch.length / 2);
    return (await sendBatch(kind, batch.slice(0, middle))) && sendBatch(kind, batch.slice(middle));
  }
  // none was taken, each for a reason of its own
  await takeResults(batch, results ?? [{ ok: false, code, message }]);
  return true;
}

type Periods = MachineView['periods'];

/** The periods of machines whose state has changed since an open-ended reason was made that is sent now. */
async function readPeriods(): Promise<ReadonlyMap<string, Periods>> {
  const found = new Map<string, Periods>();
  if (connection.peek().state !== 'live') return found;
  const now = nowMs();
  const changed = outgoing
    .peek()
    .filter((entry) => isDue(entry, now) && !entry.tried && entry.endTime === null)
    .filter((entry) => (tileOf(entry.machineId)?.peek().startTime ?? 0) > entry.startTime);
  for (const machineId of new Set(changed.map((entry) => entry.machineId))) {
    const answer = await readMachine(machineId);
    if (answer.ok) found.set(machineId, answer.value.periods);
  }
  return found;
}

/** Marks what is due as tried, in its final form. */
async function claim(kind: Kind, periods: ReadonlyMap<string, Periods>): Promise<Outgoing[]> {
  let claimed: Outgoing[] = [];
  await change((entries) => {
    const now = nowMs();
    claimed = entries
      .filter((entry) => entry.kind === kind && isDue(entry, now))
      .sort(compareSending)
      .slice(0, BATCH[kind])
      .map((entry) => withKnownEnd(entry, periods.get(entry.machineId) ?? []))
      .map((entry) => ({ ...entry, tried: true }));
    const byId = new Map(claimed.map((entry) => [entry.id, entry]));
    return entries.map((entry) => byId.get(entry.id) ?? entry);
  });
  return claimed;
}

function post(batch: readonly Outgoing[]): Promise<Answer<{ results: Result[] }>> {
  const reasons = batch.filter((entry) => entry.kind === 'reason');
  return reasons.length > 0
    ? call('POST', '/api/reasons', 'results', { entries: reasons.map(toNewEntry) })
    : call('POST', '/api/notes', 'results', {
        notes: batch.filter((entry) => entry.kind === 'note').map(toNewNote),
      });
}

async function takeResults(batch: readonly Outgoing[], results: readonly Result[]): Promise<void> {
  const byId = new Map(batch.map(({ id }, index) => [id, results[index]]));
  const now = nowMs();
  await change((entries) =>
    entries.map((entry) => {
      const result = byId.get(entry.id);
      // the answer of the bridge may have overtaken that of the server
      if (!result || entry.status !== 'waiting') return entry;
      if (result.ok) {
        // nobody answers a note: with Kafka it has arrived
        return { ...entry, status: entry.kind === 'note' ? 'applied' : 'sent', settledAtMs: now };
      }
      const status = result.code === 'over-operating' ? 'unconfirmed' : 'refused';
      if (status === 'refused')
        showToast(`${entry.machineName}: ${strings.peek().status.refused}`, true);
      const [code, detail] = [result.code ?? null, result.message ?? null];
      return { ...entry, status, tried: false, code, detail, settledAtMs: now };
    }),
  );
}

/** The entries as they are to be, of those that are not to change the same objects. */
type Change = (entries: readonly Outgoing[]) => readonly Outgoing[];

/** Reads all entries and writes what becomes of them, in one transaction; the page shows it afterwards. */
async function change(decide: Change): Promise<void> {
  const used = database;
  const written = used && (await changeKept(used, decide).catch(() => null));
  if (used && used === database && !written) {
    // the disk is full, or the browser has thrown the database away: for now the page itself keeps them
    used.close();
    database = null;
    isKept.value = false;
    noteOwn();
  }
  // it may have failed others meanwhile, whose entries it does not have
  show(written && used === database ? written : decide(outgoing.peek()));
  if (!database) noteOwn();
  tabs?.postMessage('changed');
}

function noteOwn(): void {
  for (const entry of outgoing.peek()) if (!own.has(entry.id)) own.set(entry.id, entry);
}

/** Writes what the page itself keeps, once there is a database that takes it. */
async function keepAgain(): Promise<void> {
  if (database) return;
  const opened = await openDatabase().catch(() => null);
  if (!opened) return;
  const mine = outgoing.peek();
  const ofAll = (kept: readonly Outgoing[]): Outgoing[] => {
    const byId = new Map(kept.map((entry) => [entry.id, entry]));
    return [
      ...kept.filter(({ id }) => !own.has(id)),
      // another tab may have changed what has not changed here
      ...mine.map((entry) => (own.get(entry.id) === entry ? (byId.get(entry.id) ?? entry) : entry)),
    ];
  };
  const written = await changeKept(opened, ofAll).catch(() => null);
  // meanwhile something may have changed here: then the next time
  if (!written || outgoing.peek() !== mine) {
    opened.close();
    return;
  }
  database = opened;
  own.clear();
  isKept.value = true;
  show(written);
  tabs?.postMessage('changed');
}

async function reload(): Promise<void> {
  const used = database;
  const kept = used && (await changeKept(used, (entries) => entries).catch(() => null));
  if (kept && used === database) show(kept);
}

function show(entries: readonly Outgoing[]): void {
  outgoing.value = [...entries].sort((a, b) => a.madeAt - b.madeAt);
}

function changeKept(db: IDBDatabase, decide: Change): Promise<readonly Outgoing[]> {
  return new Promise((resolve, reject) => {
    const transaction = db.transaction('outgoing', 'readwrite', { durability: 'strict' });
    const store = transaction.objectStore('outgoing');
    let result: readonly Outgoing[] = [];
    const request = store.getAll() as IDBRequest<Outgoing[]>;
    request.onsuccess = () => {
      const before = request.result;
      result = decide(before);
      const ids = new Set(result.map(({ id }) => id));
      for (const { id } of before) if (!ids.has(id)) store.delete(id);
      for (const entry of result) if (!before.includes(entry)) store.put(entry);
    };
    transaction.oncomplete = () => resolve(result);
    transaction.onabort = transaction.onerror = () =>
      reject(transaction.error ?? new Error('the database of entries was not written'));
  });
}

function openDatabase(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open('machine-terminal', 1);
    request.onupgradeneeded = () => request.result.createObjectStore('outgoing', { keyPath: 'id' });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('no database'));
  });
}
