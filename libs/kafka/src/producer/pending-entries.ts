import type { CommitPosition } from './offset-metadata.js';
import {
  byteLength,
  MAX_BATCH_BYTES,
  mustCompress,
  type OutboundRecord,
  type RecordRefusedError,
} from './outbound-record.js';

const MAX_ENTRIES = 2000;

interface TransactedMessage {
  readonly offset: number;
}

/** Records written at the end of messages or before it. A class: there are tens of thousands a second. */
export class TransactionEntry<M extends TransactedMessage = TransactedMessage> {
  readonly offsets: readonly number[];
  bytes: number;
  /** A message that was compressed may fit into its topic only when compressed. */
  isCompressed: boolean;

  /** `messages` that are finished together are several; without `isLast`, `item` is done but its message is not. */
  constructor(
    readonly messages: readonly M[],
    public records: readonly OutboundRecord[],
    readonly isLast: boolean,
    readonly item?: number,
    readonly isDeferral = false,
  ) {
    this.offsets = messages.map(({ offset }) => offset);
    this.bytes = bytesOf(records);
    this.isCompressed = mustCompress(this.bytes);
  }

  /** Replaces a refused record by its next form: compressed, then leaner. Returns false if none is left. */
  makeLeaner(refusal: RecordRefusedError): boolean {
    if (refusal.code === 'too-large' && !this.isCompressed) {
      this.isCompressed = true;
      return true;
    }
    const { topic: refusedBy } = refusal;
    const fat = this.records.find(
      ({ leaner, topic }) => leaner !== undefined && topic === (refusedBy ?? topic),
    );
    const lean = fat?.leaner?.(refusal);
    if (lean === undefined) return false;
    this.records = this.records.map((record) => (record === fat ? lean : record));
    this.bytes = bytesOf(this.records);
    this.isCompressed = mustCompress(this.bytes);
    return true;
  }
}

/** The part of an entry that changes the progress of its messages. */
export type CommittedEntry = Pick<TransactionEntry, 'offsets' | 'isLast' | 'item' | 'isDeferral'>;

export interface CommittableProgress {
  /** The position to commit with these entries; undefined before anything is handed over. */
  positionAfter(entries?: readonly CommittedEntry[]): CommitPosition | undefined;
}

/** Time for some hundred transactions, short beside the 40 s after which a write is given up. */
const YIELD_MS = 10_000;

interface Chosen {
  readonly entries: TransactionEntry[];
  readonly place: CommitPosition | undefined;
}

/**
 * The entries that wait for a transaction, in order, and the choice of those for the next. Pure: no I/O, no
 * callbacks.
 *
 * All entries go together until a transaction fails. From then on the entries of each *topic set*, the topics that an
 * entry writes to, are committed and back off separately, until each set has been committed once.
 */
export class PendingEntries {
  private entries: TransactionEntry[] = [];
  private bytes = 0;
  private firstMs = 0;
  /** Limit of entries in a transaction: lower while a refused one is bisected. */
  private maxEntries = MAX_ENTRIES;
  /** Limit of entries that end in time: lower over a slow line, or under a quota. */
  private maxEntriesInTime = MAX_ENTRIES;
  /** End of each topic set's back-off; undefined while all go together. */
  private backOffEndMs: Map<string, number> | undefined;
  /** The topic set of the latest long failure: others go first from the next transaction on until `untilMs`. */
  private yielding: { topicSet: string; untilMs?: number } | undefined;
  /** Set while the metadata has no room: retried with the next entry or at the end of a back-off (Infinity if none). */
  private blockedUntilMs: number | undefined;

  constructor(private readonly progress: CommittableProgress) {}

  get isEmpty(): boolean {
    return this.entries.length === 0;
  }

  /** Whether the next entry may be due before the waiting ones: none waits, or they are held back. */
  get mayGoSooner(): boolean {
    return this.isEmpty || this.blockedUntilMs !== undefined || this.backOffEndMs !== undefined;
  }

  /** Whether some of the entries may be committed without the others. */
  canPart(entries: readonly TransactionEntry[]): boolean {
    return entries.length > 1 && entries.length <= this.maxEntries;
  }

  get isFull(): boolean {
    return this.entries.length >= this.maxEntries || this.bytes >= MAX_BATCH_BYTES;
  }

  addEntry(entry: TransactionEntry, nowMs: number): void {
    if (this.isEmpty) this.firstMs = nowMs;
    this.entries.push(entry);
    this.bytes += entry.bytes;
    this.blockedUntilMs = undefined;
  }

  /** Time at which the first entry is due, possibly in the past; Infinity if none waits. */
  dueMs(nowMs: number): number {
    if (this.isEmpty) return Infinity;
    const { backOffEndMs, blockedUntilMs = -Infinity } = this;
    if (blockedUntilMs > nowMs) return blockedUntilMs;
    if (backOffEndMs === undefined) return this.firstMs;
    const bySequence = new Map<number | string, number>();
    let earliestMs = Infinity;
    for (const entry of this.entries) {
      const sequences = sequencesOf(entry);
      const atMs = Math.max(
        backOffEndMs.get(topicSetOf(entry)) ?? this.firstMs,
        ...sequences.map((each) => bySequence.get(each) ?? -Infinity),
      );
      for (const each of sequences) bySequence.set(each, atMs);
      earliestMs = Math.min(earliestMs, atMs);
    }
    return earliestMs <= nowMs ? Math.min(earliestMs, this.firstMs) : earliestMs;
  }

  /** Removes the entries of the next transaction: as many as the metadata has room for. */
  takeForTransaction(nowMs: number): Chosen {
    const ofOthers = this.entriesWithRoom(this.nextOfOthers(nowMs));
    const areOthers = ofOthers.entries.length > 0;
    const next = areOthers ? ofOthers.entries : this.nextOfTopicSet(nowMs);
    const chosen = areOthers ? ofOthers : this.chooseWithRoom(next, nowMs);
    const gone = new Set(chosen.entries);
    const isBlocked = next.length > 0 && gone.size === 0;
    const backOffEndsMs = [...(this.backOffEndMs?.values() ?? [])].filter((endMs) => endMs > nowMs);
    this.blockedUntilMs = isBlocked ? Math.min(...backOffEndsMs) : undefined;
    this.entries = this.entries.filter((entry) => !gone.has(entry));
    this.bytes -= chosen.entries.reduce((sum, entry) => sum + entry.bytes, 0);
    this.firstMs = nowMs;
    return chosen;
  }

  /** Chooses the next entries that have room; if none has, others that make room. */
  private chooseWithRoom(next: TransactionEntry[], nowMs: number): Chosen {
    const ofNext = this.entriesWithRoom(next);
    if (next.length === 0 || ofNext.entries.length > 0) return ofNext;
    // The lowest offsets, whose commit makes room, may wait behind more than a transaction takes.
    const upTo = this.progress.positionAfter([])?.upTo;
    const ofLowest = this.entriesWithRoom(this.nextOfTopicSet(nowMs, upTo));
    if (ofLowest.entries.length > 0) return ofLowest;
    // Done items may have no room until their message ends, which may be behind more than a transaction takes.
    return this.entriesWithRoom(this.wholeMessages(nowMs));
  }

  /** @param isFast a larger transaction would have ended in time */
  transactionCommitted(entries: readonly TransactionEntry[], isFast = true): void {
    if (isFast) this.maxEntriesInTime = Math.min(2 * this.maxEntriesInTime, MAX_ENTRIES);
    this.maxEntries = this.maxEntriesInTime;
    if (this.backOffEndMs === undefined) return;
    for (const entry of entries) this.backOffEndMs.delete(topicSetOf(entry));
    if (this.backOffEndMs.size === 0) this.backOffEndMs = undefined;
  }

  /**
   * After a failure each topic set is committed separately. If the transaction held only one set, that backs off; if
   * it held whole messages, the sets of their ends do.
   */
  transactionFailed(entries: readonly TransactionEntry[], untilMs: number): void {
    const areWhole = this.backOffEndMs !== undefined && new Set(entries.map(topicSetOf)).size > 1;
    const ends = areWhole ? entries.filter(({ isLast }) => isLast) : entries;
    this.backOffEndMs ??= new Map();
    const topicSets = new Set(ends.map(topicSetOf));
    const [topicSet = ''] = topicSets;
    // A topic set that has not failed alone is tried alone at once.
    for (const each of topicSets) this.backOffEndMs.set(each, areWhole ? untilMs : -Infinity);
    if (topicSets.size <= 1) this.backOffEndMs.set(topicSet, untilMs);
  }

  /**
   * Brokers abort long transactions: the next ones have half as many entries until they are fast again. If this one
   * held a single topic set, others go first for a while: they waited for it, and would again at each retry.
   */
  transactionLastedLong(entries: readonly TransactionEntry[]): void {
    const { length } = entries;
    const [topicSet, ...further] = new Set(entries.map(topicSetOf));
    if (topicSet !== undefined && further.length === 0) this.yielding = { topicSet };
    this.maxEntriesInTime = Math.min(this.maxEntriesInTime, Math.max(1, Math.floor(length / 2)));
    this.maxEntries = Math.min(this.maxEntries, this.maxEntriesInTime);
  }

  /** Whether transactions take long: one entry may hold thousands of outcomes, which gzip shrinks to a twentieth. */
  get isSlow(): boolean {
    return this.maxEntriesInTime < MAX_ENTRIES;
  }

  /** @param most limit of entries in a transaction until one is committed */
  returnToFront(entries: readonly TransactionEntry[], most = this.maxEntries): void {
    this.entries.unshift(...entries);
    this.bytes += entries.reduce((sum, entry) => sum + entry.bytes, 0);
    this.maxEntries = most;
    this.blockedUntilMs = undefined;
  }

  /** Returns entries of {@link removeAll} behind those added since. */
  returnToEnd(entries: readonly TransactionEntry[]): void {
    this.entries.push(...entries);
    this.bytes += entries.reduce((sum, entry) => sum + entry.bytes, 0);
  }

  removeAll(): TransactionEntry[] {
    const all = this.entries;
    this.entries = [];
    this.bytes = 0;
    return all;
  }

  /** The next entries of a topic set other than the one that yields; none if all do. */
  private nextOfOthers(nowMs: number): TransactionEntry[] {
    if (this.yielding === undefined) return [];
    // A new writer and its fence may have taken long since the failure.
    this.yielding.untilMs ??= nowMs + YIELD_MS;
    if (nowMs >= this.yielding.untilMs) return [];
    return this.nextOfTopicSet(nowMs, Infinity, this.yielding.topicSet);
  }

  /**
   * The next entries of a topic set, up to an offset. Entries of one message keep their order: its end must not be
   * committed before its earlier records. So do entries of one key: a change of an order must not overtake the order,
   * nor a crash restore an older list.
   */
  private nextOfTopicSet(nowMs: number, upTo = Infinity, except?: string): TransactionEntry[] {
    const { backOffEndMs } = this;
    const heldBack = new Set<number | string>();
    const taken: TransactionEntry[] = [];
    let topicSet: string | undefined;
    let bytes = 0;
    for (const entry of this.entries) {
      if (backOffEndMs !== undefined || upTo < Infinity) {
        const [sequences, set] = [sequencesOf(entry), topicSetOf(entry)];
        const isDue = set !== except && (backOffEndMs?.get(set) ?? -Infinity) <= nowMs;
        const mayBegin = topicSet === undefined && isDue;
        const isOfSet = backOffEndMs === undefined || mayBegin || set === topicSet;
        const isBehind = sequences.some((each) => heldBack.has(each));
        if (isBehind || !isOfSet || entry.offsets.some((offset) => offset > upTo)) {
          for (const each of sequences) heldBack.add(each);
          continue;
        }
        topicSet = set;
      }
      const isFull = taken.length >= this.maxEntries || bytes + entry.bytes > MAX_BATCH_BYTES;
      if (taken.length > 0 && isFull) break;
      taken.push(entry);
      bytes += entry.bytes;
    }
    return taken;
  }

  /**
   * Entries of messages whose ends are among them, so that they need no room: as many messages as fit into a
   * transaction, or those interleaved with the first. They overtake no remaining entry of the same key.
   */
  private wholeMessages(nowMs: number): TransactionEntry[] {
    const ending = new Set(this.entries.flatMap(({ isLast, offsets }) => (isLast ? offsets : [])));
    const isWhole = ({ offsets }: TransactionEntry): boolean =>
      offsets.every((offset) => ending.has(offset));
    for (let before = 0; ending.size !== before;) {
      before = ending.size;
      const heldBack = new Set<string>();
      for (const entry of this.entries) {
        const keys = keysOf(entry);
        const backsOff = (this.backOffEndMs?.get(topicSetOf(entry)) ?? -Infinity) > nowMs;
        if (isWhole(entry) && !backsOff && !keys.some((key) => heldBack.has(key))) continue;
        for (const key of keys) heldBack.add(key);
        for (const offset of entry.offsets) ending.delete(offset);
      }
    }
    return this.firstWholeMessages(this.entries.filter(isWhole));
  }

  private firstWholeMessages(entries: TransactionEntry[]): TransactionEntry[] {
    const unended = new Set<number>();
    let bytes = 0;
    let end = 0;
    for (const [index, entry] of entries.entries()) {
      bytes += entry.bytes;
      if (end > 0 && (index >= this.maxEntries || bytes > MAX_BATCH_BYTES)) break;
      for (const offset of entry.offsets) {
        if (entry.isLast) unended.delete(offset);
        else unended.add(offset);
      }
      if (unended.size === 0) end = index + 1;
    }
    return entries.slice(0, end);
  }

  /** Chooses the entries that the metadata has room for, and the position that a commit states with them. */
  private entriesWithRoom(next: TransactionEntry[]): Chosen {
    let entries = next;
    // Trying each number of entries would take seconds for a message with thousands of machines.
    for (let leftOut = 1; ; leftOut *= 2) {
      const place = this.progress.positionAfter(entries);
      const fitting = withRoom(entries, place, leftOut);
      if (fitting.length === entries.length) return { entries, place };
      // The metadata must name exactly the items written with it.
      entries = fitting;
    }
  }
}

/** The sequences in which an entry overtakes no other: its messages, and {@link keysOf}. */
function sequencesOf(entry: TransactionEntry): (number | string)[] {
  return [...entry.offsets, ...keysOf(entry)];
}

/** Sequences whose order readers rely on: records of one key, and of one explicit partition. */
function keysOf({ records }: TransactionEntry): string[] {
  return records.flatMap(({ topic, key, partition, isState }) => {
    if (partition !== undefined && isState !== true) return `${topic}/${partition}`;
    return key === null ? [] : `${topic}/${String(key)}`;
  });
}

/**
 * The entries that the metadata has room for, without those behind one that has no room.
 *
 * @param leftOut partial entries to leave out, at most half of them, if there is no room for all
 */
function withRoom(
  entries: TransactionEntry[],
  place: CommitPosition | undefined,
  leftOut: number,
): TransactionEntry[] {
  if (place === undefined) return entries;
  const covered = entries.filter(({ offsets }) => offsets.every((offset) => offset <= place.upTo));
  if (covered.length < entries.length || place.items !== undefined) return covered;
  const done = entries.flatMap(({ item }, index) => (item === undefined ? [] : [index]));
  return entries.slice(0, done.at(-Math.min(leftOut, Math.ceil(done.length / 2))) ?? 0);
}

export function topicsOf(entries: readonly TransactionEntry[]): Set<string> {
  const topics = new Set<string>();
  for (const { records } of entries) for (const { topic } of records) topics.add(topic);
  return topics;
}

function bytesOf(records: readonly OutboundRecord[]): number {
  let bytes = 0;
  for (const record of records) bytes += byteLength(record);
  return bytes;
}

function topicSetOf({ records }: TransactionEntry): string {
  const [first] = records;
  if (first === undefined) return '';
  if (records.length === 1) return first.topic;
  return [...new Set(records.map(({ topic }) => topic))].sort().join();
}
