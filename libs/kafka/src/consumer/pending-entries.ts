import { type OutboundRecord } from '../producer/outbound-record.js';
import {
  byteLength,
  MAX_BATCH_BYTES,
  MAX_RECORD_BYTES,
  mustCompress,
} from '../producer/record-batches.js';
import { type RecordRefusedError } from '../producer/record-refused.js';
import { type PartitionProgress, type CommitPosition } from './partition-progress.js';

const MAX_ENTRIES = 2000;

/** What became of a message, to be written with its offset; or something that is said of it before. */
export abstract class TransactionEntry {
  bytes: number;
  /** What came compressed and fitted may fit again when it is compressed. */
  isCompressed = false;

  /**
   * @param offsets of the message; or of several that are finished together
   * @param isLast it finishes the message
   * @param item what of the message is done by it, by its place in that, where it does not finish it
   */
  constructor(
    readonly offsets: readonly number[],
    public records: readonly OutboundRecord[],
    readonly isLast: boolean,
    readonly item?: number,
  ) {
    this.bytes = bytesOf(records);
  }

  /** Kafka has all of it, and the offset. */
  abstract entryCommitted(): void;

  /** It is not known to be written, and the partition is lost: its next owner does it again. */
  abstract entryDropped(): void;

  /** It can never be written, not even a leaner form of it. */
  abstract entryRefused(error: RecordRefusedError): void;

  /** Makes of what was refused by itself what is to be tried in its place; false where there is nothing left to try. */
  makeLeaner(refusal: RecordRefusedError): boolean {
    const mayFit = !isToCompress([this]) && this.bytes <= MAX_RECORD_BYTES;
    if (refusal.code === 'too-large' && mayFit) {
      this.isCompressed = true;
      return true;
    }
    const fat = this.records.find(({ leaner }) => leaner !== undefined);
    const lean = fat?.leaner?.(refusal);
    if (lean === undefined) return false;
    this.records = this.records.map((record) => (record === fat ? lean : record));
    this.bytes = bytesOf(this.records);
    this.isCompressed = false;
    return true;
  }
}

/** What waits to be committed, in its order, and what of it goes into the next transaction. Keeps count and calls nobody. */
export class PendingEntries {
  private entries: TransactionEntry[] = [];
  private bytes = 0;
  private firstMs = 0;
  /** At most so many go together: fewer while one at fault is searched for. */
  private most = MAX_ENTRIES;
  /** By lane, until when it waits since it failed by itself. Undefined while all go together. */
  private failing: Map<string, number> | undefined;
  /** No room in the metadata for what waits, until something else comes. */
  private isBlocked = false;

  constructor(private readonly progress: Pick<PartitionProgress, 'positionAfter'>) {}

  get isEmpty(): boolean {
    return this.entries.length === 0;
  }

  /** Whether what comes next may go before what waits: nothing waits, or what does is held up. */
  get mayGoSooner(): boolean {
    return this.isEmpty || this.isBlocked || this.failing !== undefined;
  }

  get isFull(): boolean {
    return this.entries.length >= this.most || this.bytes >= MAX_BATCH_BYTES;
  }

  addEntry(entry: TransactionEntry, nowMs: number): void {
    if (this.isEmpty) this.firstMs = nowMs;
    this.entries.push(entry);
    this.bytes += entry.bytes;
    this.isBlocked = false;
  }

  /** Since when, or from when on, something may go; Infinity where nothing may. */
  dueMs(nowMs: number): number {
    if (this.isEmpty || this.isBlocked) return Infinity;
    const { failing } = this;
    if (failing === undefined) return this.firstMs;
    const bySequence = new Map<number | string, number>();
    let earliestMs = Infinity;
    for (const entry of this.entries) {
      const sequences = sequencesOf(entry);
      const atMs = Math.max(
        failing.get(laneOf(entry)) ?? this.firstMs,
        ...sequences.map((each) => bySequence.get(each) ?? -Infinity),
      );
      for (const each of sequences) bySequence.set(each, atMs);
      earliestMs = Math.min(earliestMs, atMs);
    }
    return earliestMs <= nowMs ? Math.min(earliestMs, this.firstMs) : earliestMs;
  }

  /** What goes next, as much as there is room for; what does not fit waits for what lies before it. */
  takeForTransaction(nowMs: number): {
    entries: TransactionEntry[];
    place: CommitPosition | undefined;
  } {
    let entries = this.nextOfLane(nowMs);
    let place = this.placeAfter(entries);
    const hasSome = entries.length > 0;
    for (;;) {
      const fitting = withRoom(entries, place);
      if (fitting.length === entries.length) break;
      // What it says is done must be what is written with it.
      entries = fitting;
      place = this.placeAfter(entries);
    }
    const gone = new Set(entries);
    this.isBlocked = hasSome && entries.length === 0;
    this.entries = this.entries.filter((entry) => !gone.has(entry));
    this.bytes -= entries.reduce((sum, entry) => sum + entry.bytes, 0);
    this.firstMs = nowMs;
    return { entries, place };
  }

  transactionCommitted(entries: readonly TransactionEntry[]): void {
    this.most = MAX_ENTRIES;
    if (this.failing === undefined) return;
    for (const entry of entries) this.failing.delete(laneOf(entry));
    if (this.failing.size === 0) this.failing = undefined;
  }

  /** A transaction has failed: from now on each lane goes by itself, and where this was one lane, it waits. */
  transactionFailed(entries: readonly TransactionEntry[], untilMs: number): void {
    this.failing ??= new Map();
    const lanes = new Set(entries.map(laneOf));
    const [lane = ''] = lanes;
    // One that has not failed by itself is there to be tried by itself, at once.
    for (const each of lanes) this.failing.set(each, -Infinity);
    if (lanes.size <= 1) this.failing.set(lane, untilMs);
  }

  /** @param most that go together until something is committed */
  returnToFront(entries: readonly TransactionEntry[], most = this.most): void {
    this.entries.unshift(...entries);
    this.bytes += entries.reduce((sum, entry) => sum + entry.bytes, 0);
    this.most = most;
    this.isBlocked = false;
  }

  /** What {@link removeAll} has given out waits again, behind what has come since. */
  returnToEnd(entries: readonly TransactionEntry[]): void {
    this.entries.push(...entries);
    this.bytes += entries.reduce((sum, entry) => sum + entry.bytes, 0);
  }

  /** Returns all, and forgets it. */
  removeAll(): TransactionEntry[] {
    const all = this.entries;
    this.entries = [];
    this.bytes = 0;
    return all;
  }

  /**
   * What is said of a message goes in its order: its end must not be committed without what comes before that. So does
   * what is kept under a key.
   */
  private nextOfLane(nowMs: number): TransactionEntry[] {
    const { failing } = this;
    const heldBack = new Set<number | string>();
    const taken: TransactionEntry[] = [];
    let lane: string | undefined;
    let bytes = 0;
    for (const entry of this.entries) {
      if (failing !== undefined) {
        const [sequences, its] = [sequencesOf(entry), laneOf(entry)];
        const mayBegin = lane === undefined && (failing.get(its) ?? -Infinity) <= nowMs;
        const isBehind = sequences.some((each) => heldBack.has(each));
        if (isBehind || !(mayBegin || its === lane)) {
          for (const each of sequences) heldBack.add(each);
          continue;
        }
        lane = its;
      }
      const isFull = taken.length >= this.most || bytes + entry.bytes > MAX_BATCH_BYTES;
      if (taken.length > 0 && isFull) break;
      taken.push(entry);
      bytes += entry.bytes;
    }
    return taken;
  }

  private placeAfter(entries: readonly TransactionEntry[]): CommitPosition | undefined {
    const finished = new Set<number>();
    for (const { isLast, offsets } of entries) {
      if (isLast) for (const offset of offsets) finished.add(offset);
    }
    const items = entries.flatMap(({ offsets: [offset = 0], item }) =>
      item === undefined || finished.has(offset) ? [] : [{ offset, item }],
    );
    return this.progress.positionAfter(finished, items);
  }
}

/** In which it overtakes nothing: of its messages, and of each key that it keeps something under. */
function sequencesOf({ offsets, records }: TransactionEntry): (number | string)[] {
  const kept = records.filter(({ isState }) => isState === true);
  return [...offsets, ...kept.map(({ topic, key }) => `${topic}/${String(key)}`)];
}

/** Those that the commit has room for. What is done behind one that has none must not be committed before it. */
function withRoom(
  entries: TransactionEntry[],
  place: CommitPosition | undefined,
): TransactionEntry[] {
  if (place === undefined) return entries;
  const covered = entries.filter(({ offsets }) => offsets.every((offset) => offset <= place.upTo));
  if (covered.length < entries.length || place.items !== undefined) return covered;
  const lastDone = entries.findLastIndex(({ item }) => item !== undefined);
  return entries.slice(0, Math.max(0, lastDone));
}

export function topicsOf(entries: readonly TransactionEntry[]): Set<string> {
  const topics = new Set<string>();
  for (const { records } of entries) for (const { topic } of records) topics.add(topic);
  return topics;
}

export function isToCompress(entries: readonly TransactionEntry[]): boolean {
  return entries.some(({ bytes, isCompressed }) => isCompressed || mustCompress(bytes));
}

function bytesOf(records: readonly OutboundRecord[]): number {
  let bytes = 0;
  for (const record of records) bytes += byteLength(record);
  return bytes;
}

/** The topics it is written to, as one text: what is to go apart goes by that. */
function laneOf({ records }: TransactionEntry): string {
  const [first] = records;
  if (first === undefined) return '';
  if (records.length === 1) return first.topic;
  return [...new Set(records.map(({ topic }) => topic))].sort().join();
}
