/**
 * Entries made on this page, on their way to the server: stored in IndexedDB at once, sent after their undo time, and
 * retried until the server answers.
 *
 * Tabs share the database. A round of sending holds the Web Lock LOCK, so that one tab at a time sends. Without Web
 * Locks (plain http) two tabs may send the same entry, which the server recognises by its id. A browser that stores
 * nothing refuses locks as well: its tabs share no entries.
 *
 * Before an entry is sent first, a transaction marks it as `tried`. Undo removes only unmarked entries, also in a
 * transaction: an entry is either taken back or sent, never both.
 */
import { computed, signal } from '@preact/signals';
import type { Entry } from '../../../src/api/index.js';
import { type Answer, backOffMs, call } from './api-client.js';
import {
  compareSending,
  isDue,
  isForgotten,
  type Outgoing,
  toNewEntry,
  toNewNote,
  unsent,
  applyAnswer,
  markUnanswered,
} from '../model/outgoing.js';
import { nowMs, plantSeconds, tick } from './clock.js';
import { session, showToast, signInNeeded, strings } from './store.js';

const LOCK = 'machine-terminal-outbox';
/** A request's body is limited to 64 kB, and the longest names and texts have to fit. */
const BATCH = { reason: 50, note: 8 };
type Kind = Outgoing['kind'];
const KINDS: readonly Kind[] = ['reason', 'note'];
const STORE_AGAIN_MS = 20_000;
const MAX_BACK_OFF_MS = 30_000;

/** Result of one record in a request, in the order of the records. */
interface Result {
  ok: boolean;
  code?: string | null;
  message?: string | null;
}

export const outgoing = signal<readonly Outgoing[]>([]);
/** Ids that this tab is sending. */
export const sending = signal<ReadonlySet<string>>(new Set());
/** false: the browser gives no database, and entries live as long as the page. */
export const areEntriesStored = signal(true);
export const unsentEntries = computed(() => unsent(outgoing.value, tick.value));

const tabs = channelOfTabs();
let database: IDBDatabase | null = null;
/**
 * Entries of this page since the database fails, by id, as first seen: the database's other entries belong to other
 * tabs.
 */
const pageEntries = new Map<string, Outgoing>();
/** By kind: the server may accept one kind and not the other. */
const tries = { reason: { failures: 0, nextAtMs: 0 }, note: { failures: 0, nextAtMs: 0 } };
let isSending = false;

export async function openOutbox(): Promise<void> {
  try {
    database = await openDatabase();
    // plain http has no storage manager
    if ('storage' in navigator) void navigator.storage.persist().catch(() => false);
  } catch {
    areEntriesStored.value = false;
  }
  await addEntries([]);
  if (tabs) tabs.onmessage = () => void reloadEntries();
  tick.subscribe(() => void sendDueEntries());
  setInterval(() => void storeAgain(), STORE_AGAIN_MS);
  window.addEventListener('online', sendSoon);
}

/** Sends without waiting for the back-off, when the server can be reached again. */
export function sendSoon(): void {
  for (const kind of KINDS) tries[kind].nextAtMs = 0;
  void sendDueEntries();
}

/** Adds entries, and removes those answered long ago: a page may be open for months. */
export async function addEntries(entries: readonly Outgoing[]): Promise<void> {
  await changeEntries((known) => [
    ...known.filter((entry) => !isForgotten(entry, nowMs())),
    ...entries,
  ]);
}

/** Takes back the unsent ones of these entries. */
export async function takeBack(ids: readonly string[]): Promise<void> {
  await changeEntries((entries) =>
    entries.filter(({ id, status, tried }) => !ids.includes(id) || status !== 'waiting' || tried),
  );
}

export async function discardEntry(id: string): Promise<void> {
  await changeEntries((entries) => entries.filter((entry) => entry.id !== id));
}

/** Sends an entry although the machine ran in its time. */
export async function confirmOverOperating(id: string): Promise<void> {
  await changeEntries((entries) =>
    entries.map((entry) =>
      entry.id === id && entry.kind === 'reason' && entry.status === 'unconfirmed'
        ? { ...entry, status: 'waiting', overOperating: true, sendAfterMs: 0 }
        : entry,
    ),
  );
  sendSoon();
}

/**
 * Applies the server's answers to entries made here.
 *
 * @param asked ids that were asked for; those without an answer are unknown to the server
 */
export async function applyAnswers(
  answers: readonly Entry[],
  asked: readonly string[] = [],
): Promise<void> {
  const unknown = new Set(asked);
  for (const { entryId } of answers) unknown.delete(entryId);
  const lastShiftStart = session.peek()?.shifts[1]?.startTime ?? -Infinity;
  const answered = (entry: Outgoing): Outgoing => {
    if (unknown.has(entry.id)) {
      const sentAt = entry.settledAtMs === null ? entry.madeAt : plantSeconds(entry.settledAtMs);
      return markUnanswered(entry, { lastShiftStart, sentAt, nowMs: nowMs() });
    }
    return answers.reduce((latest, answer) => applyAnswer(latest, answer, nowMs()), entry);
  };
  if (outgoing.peek().every((entry) => answered(entry) === entry)) return;
  await changeEntries((entries) => entries.map(answered));
}

/** Null in Firefox where it stores nothing. */
function channelOfTabs(): BroadcastChannel | null {
  try {
    return new BroadcastChannel('machine-terminal-outbox');
  } catch {
    return null;
  }
}

async function sendDueEntries(): Promise<void> {
  const now = nowMs();
  const due = KINDS.filter(
    (kind) =>
      now >= tries[kind].nextAtMs &&
      outgoing.peek().some((entry) => entry.kind === kind && isDue(entry, now)),
  );
  if (isSending || due.length === 0 || signInNeeded.peek()) return;
  isSending = true;
  try {
    await withSendingLock(async () => {
      for (const kind of due) await sendRound(kind);
    });
  } finally {
    isSending = false;
    sending.value = new Set();
  }
}

async function withSendingLock(work: () => Promise<void>): Promise<void> {
  if (!database || !('locks' in navigator)) return work();
  await navigator.locks.request(LOCK, { ifAvailable: true }, async (lock) => {
    if (lock) await work();
  });
}

async function sendRound(kind: Kind): Promise<void> {
  const batch = await claimDue(kind);
  if (batch.length === 0) return;
  sending.value = new Set(batch.map(({ id }) => id));
  await sendBatch(kind, batch);
}

/** Returns whether the server answered. */
async function sendBatch(kind: Kind, batch: readonly Outgoing[]): Promise<boolean> {
  const answer = await postBatch(batch);
  if (answer.ok) {
    tries[kind].failures = 0;
    await applyResults(batch, answer.value.results);
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
    // too large together, or one is invalid: halves find it
    const middle = Math.ceil(batch.length / 2);
    return (await sendBatch(kind, batch.slice(0, middle))) && sendBatch(kind, batch.slice(middle));
  }
  // none was accepted, each with a result of its own
  await applyResults(batch, results ?? [{ ok: false, code, message }]);
  return true;
}

/** Marks due entries as tried. */
async function claimDue(kind: Kind): Promise<Outgoing[]> {
  let claimed: Outgoing[] = [];
  await changeEntries((entries) => {
    const now = nowMs();
    claimed = entries
      .filter((entry) => entry.kind === kind && isDue(entry, now))
      .sort(compareSending)
      .slice(0, BATCH[kind])
      .map((entry) => ({ ...entry, tried: true }));
    const byId = new Map(claimed.map((entry) => [entry.id, entry]));
    return entries.map((entry) => byId.get(entry.id) ?? entry);
  });
  return claimed;
}

function postBatch(batch: readonly Outgoing[]): Promise<Answer<{ results: Result[] }>> {
  const reasons = batch.filter((entry) => entry.kind === 'reason');
  return reasons.length > 0
    ? call('POST', '/api/reasons', 'results', { entries: reasons.map(toNewEntry) })
    : call('POST', '/api/notes', 'results', {
        notes: batch.filter((entry) => entry.kind === 'note').map(toNewNote),
      });
}

async function applyResults(batch: readonly Outgoing[], results: readonly Result[]): Promise<void> {
  const byId = new Map(batch.map(({ id }, index) => [id, results[index]]));
  const now = nowMs();
  await changeEntries((entries) =>
    entries.map((entry) => {
      const result = byId.get(entry.id);
      // the bridge's outcome may have overtaken the server's answer
      if (!result || entry.status !== 'waiting') return entry;
      if (result.ok) {
        // notes have no outcome: stored by Kafka, they have arrived
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

/** Returns the new list; entries that do not change keep their identity. */
type Change = (entries: readonly Outgoing[]) => readonly Outgoing[];

/** Reads all entries and writes the changed ones in one transaction; then the page shows them. */
async function changeEntries(decide: Change): Promise<void> {
  const used = database;
  const written = used && (await changeStored(used, decide).catch(() => null));
  if (used && used === database && !written) {
    // the disk is full, or the browser has deleted the database: for now the page itself holds the entries
    used.close();
    database = null;
    areEntriesStored.value = false;
    rememberPageEntries();
  }
  // another call may have given up the database meanwhile, which then lacks that call's entries
  showEntries(written && used === database ? written : decide(outgoing.peek()));
  if (!database) rememberPageEntries();
  tabs?.postMessage('changed');
}

function rememberPageEntries(): void {
  for (const entry of outgoing.peek())
    if (!pageEntries.has(entry.id)) pageEntries.set(entry.id, entry);
}

/** Writes the page's own entries to a database that can be written again. */
async function storeAgain(): Promise<void> {
  if (database) return;
  const opened = await openDatabase().catch(() => null);
  if (!opened) return;
  const mine = outgoing.peek();
  const ofAll = (kept: readonly Outgoing[]): Outgoing[] => {
    const byId = new Map(kept.map((entry) => [entry.id, entry]));
    return [
      ...kept.filter(({ id }) => !pageEntries.has(id)),
      // another tab may have changed entries that did not change here
      ...mine.map((entry) =>
        pageEntries.get(entry.id) === entry ? (byId.get(entry.id) ?? entry) : entry,
      ),
    ];
  };
  const written = await changeStored(opened, ofAll).catch(() => null);
  // if entries changed meanwhile, the next run tries again
  if (!written || outgoing.peek() !== mine) {
    opened.close();
    return;
  }
  database = opened;
  pageEntries.clear();
  areEntriesStored.value = true;
  showEntries(written);
  tabs?.postMessage('changed');
}

async function reloadEntries(): Promise<void> {
  const used = database;
  const kept = used && (await changeStored(used, (entries) => entries).catch(() => null));
  if (kept && used === database) showEntries(kept);
}

function showEntries(entries: readonly Outgoing[]): void {
  outgoing.value = [...entries].sort((a, b) => a.madeAt - b.madeAt);
}

function changeStored(db: IDBDatabase, decide: Change): Promise<readonly Outgoing[]> {
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
