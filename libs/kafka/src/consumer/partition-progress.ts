import type { FetchedRecord } from '../client/kafka-port.js';
import type { CommittedProgress } from '../producer/committed-offsets.js';
import {
  addItem,
  type CommitPosition,
  composeItems,
  type DoneItems,
  FinishedAhead,
} from '../producer/offset-metadata.js';
import type { CommittableProgress, CommittedEntry } from '../producer/pending-entries.js';
import type { InboundRecord } from '../reading/stored-record.js';

/** Records handed over are removed by the thousand: one by one each would move all that wait. */
const FORGET_AT = 1000;
/**
 * An unfinished offset is overtaken once one has finished that is so much higher, or up to twice as much. So many may
 * wait behind the last that has finished: fewer than those at which a paused partition is resumed.
 */
const OVERTAKEN_BY = 250;

/**
 * The progress of a partition: which records were fetched, handed over and finished. Pure: it counts and calls nobody.
 */
export class PartitionProgress implements CommittableProgress {
  private readonly offsets = new ContiguousOffsets();
  private items: DoneItems = new Map();
  /** Inherited items are of another log where delivery begins below this. */
  private itemsFrom = 0;
  /** Unfinished messages that have been deferred here, and up to where all have been by earlier owners. */
  private readonly deferred = new Set<number>();
  private deferredBefore = -1;
  /** Fetched records in the order of offsets; the first `taken` of them are handed over. */
  private readonly fetched: FetchedRecord[] = [];
  private taken = 0;
  /** The offset behind the latest fetch; 0 before the first. */
  fetchedEnd = 0;
  /** Bytes of the fetched messages that have not ended. */
  bytes = 0;

  /** @param end the offset behind the fetch, including transaction markers */
  addFetched(records: readonly FetchedRecord[], end: number): void {
    for (const record of records) {
      // After a rebalance that left the partition here, it is fetched again.
      if (record.position < this.fetchedEnd) continue;
      this.fetchedEnd = record.position + 1;
      this.fetched.push(record);
      this.bytes += record.bytes;
    }
    this.fetchedEnd = Math.max(this.fetchedEnd, end);
  }

  /** The next record to be handed over, without those that an earlier owner finished; undefined when none waits. */
  nextRecord(): FetchedRecord | undefined {
    for (let record = this.take(); record !== undefined; record = this.take()) {
      if (this.offsets.start(record.position)) {
        if (record.position < this.itemsFrom) this.items = new Map();
        this.itemsFrom = 0;
        return record;
      }
      this.bytes -= record.bytes;
    }
    this.offsets.passUpTo(this.takenUpTo);
    return undefined;
  }

  private take(): FetchedRecord | undefined {
    const record = this.fetched[this.taken];
    if (record === undefined) return undefined;
    this.taken += 1;
    if (this.taken >= FORGET_AT || this.taken === this.fetched.length) {
      this.fetched.splice(0, this.taken);
      this.taken = 0;
    }
    return record;
  }

  /** All fetched records before it are handed over; 0 before the first fetch. */
  private get takenUpTo(): number {
    return this.fetched[this.taken]?.position ?? this.fetchedEnd;
  }

  /** Drops the waiting records: none of them will be handed over. */
  dropWaiting(): void {
    this.fetchedEnd = this.takenUpTo;
    this.fetched.length = 0;
    this.taken = 0;
  }

  /** Forgets the fetched records, which will be fetched again; only before any is handed over. */
  forgetFetched(): void {
    this.dropWaiting();
    this.fetchedEnd = 0;
    this.bytes = 0;
  }

  isItemDone(offset: number, item: number): boolean {
    return this.items.get(offset)?.has(item) === true;
  }

  /** Takes what a committed entry says of messages; of those that it finishes, {@link recordEnded} takes the end. */
  entryCommitted({ offsets, item, isDeferral }: Omit<CommittedEntry, 'isLast'>): void {
    for (const offset of offsets) {
      if (item !== undefined) addItem(this.items, offset, item);
      if (isDeferral) this.deferred.add(offset);
    }
  }

  wasDeferred(offset: number): boolean {
    return offset <= this.deferredBefore;
  }

  /** Takes the end of a message; an abandoned one stays unfinished. */
  recordEnded(
    { offset, bytes }: Pick<InboundRecord, 'offset' | 'bytes'>,
    how: 'finished' | 'abandoned',
  ): void {
    if (how === 'finished') {
      this.offsets.finish(offset);
      this.items.delete(offset);
    }
    this.deferred.delete(offset);
    this.offsets.passUpTo(this.takenUpTo);
    this.bytes -= bytes;
  }

  /** Takes over what earlier owners have finished, and the items that they have done. */
  inheritProgress(left: Omit<CommittedProgress, 'transaction'>): void {
    const { finished, floor, items, begin, deferredUpTo = -1 } = left;
    this.offsets.inherit(finished, floor);
    this.items = items;
    // without a floor, the log ends before what was committed of it
    if (floor === 0) this.itemsFrom = begin;
    this.deferredBefore = deferredUpTo;
  }

  /** The position to commit with these entries; undefined before anything is handed over. */
  positionAfter(entries: readonly CommittedEntry[] = []): CommitPosition | undefined {
    const finished = new Set<number>();
    const deferred = new Set<number>();
    for (const { offsets, isLast, isDeferral } of entries) {
      for (const offset of offsets) {
        if (isLast) finished.add(offset);
        if (isDeferral) deferred.add(offset);
      }
    }
    const place = this.withDeferred(this.offsets.after(finished), finished, deferred);
    if (place === undefined) return undefined;
    const done = entries.filter(({ item }) => item !== undefined);
    if (this.items.size === 0 && done.length === 0) return { ...place, items: '' };
    const items = new Map([...this.items].map(([offset, ofIt]) => [offset, new Set(ofIt)]));
    for (const { offsets, item = 0 } of done)
      for (const offset of offsets) addItem(items, offset, item);
    for (const offset of finished) items.delete(offset);
    return { ...place, items: composeItems(items) };
  }

  /** A message behind one that is not deferred yet may be deferred twice, rather than that one never. */
  private withDeferred<P extends { offset: number }>(
    place: P | undefined,
    finished: ReadonlySet<number>,
    deferred: ReadonlySet<number>,
  ): (P & { deferredUpTo?: number }) | undefined {
    const isNone = this.deferred.size === 0 && deferred.size === 0;
    if (place === undefined || (isNone && this.deferredBefore < place.offset)) return place;
    let deferredUpTo = Math.max(this.deferredBefore, place.offset - 1);
    for (const offset of this.offsets.unfinishedWithout(finished)) {
      if (offset <= deferredUpTo) continue;
      if (!this.deferred.has(offset) && !deferred.has(offset)) break;
      deferredUpTo = offset;
    }
    return deferredUpTo < place.offset ? place : { ...place, deferredUpTo };
  }

  /** The lowest unfinished offset; undefined before the first fetch. */
  get position(): number | undefined {
    const { takenUpTo } = this;
    return this.offsets.lowestUnfinished ?? (takenUpTo === 0 ? undefined : takenUpTo);
  }

  get size(): number {
    return this.fetched.length - this.taken + this.offsets.unfinishedSize;
  }

  /** The number of those that many later ones have finished ahead of. */
  get overtaken(): number {
    return this.offsets.overtakenSize;
  }

  get span(): number {
    return this.offsets.span;
  }
}

/**
 * Knows, of the messages of one partition that finish in any order, up to where all of them have
 * finished: the only offset that may be committed. Offsets may have gaps (compaction, transaction
 * markers); they must be started in ascending order. Only what is unfinished takes memory, however
 * many have finished behind it.
 */
export class ContiguousOffsets {
  /** Sets keep the order of insertion: the first is the lowest. */
  private readonly unfinished = new Set<number>();
  /** Unfinished ones that others have overtaken; all of them are lower than the rest. */
  private readonly overtaken = new Set<number>();
  private highest: number | undefined;
  /** The highest that has finished when what is overtaken was last looked for. */
  private overtakenBy = 0;
  /** The offsets that an earlier owner has finished, while not all of them have been started. */
  private before: FinishedAhead | undefined;
  /** Offsets below this are finished: an earlier owner has committed it. */
  private floor = 0;

  /** Takes over the offsets that an earlier owner has finished ahead of those that it committed. */
  inherit(before: FinishedAhead | undefined, floor = 0): void {
    this.before = before;
    this.floor = floor;
  }

  /** Returns whether it is still to be done. */
  start(offset: number): boolean {
    this.highest = offset;
    if (offset < this.floor) return false;
    // Delivery that begins below what was committed is of a log that is not the same any more.
    if (this.before?.covers(offset) === false) this.before = undefined;
    const wasFinished = this.before?.includes(offset) === true;
    if (wasFinished) this.overtake(offset);
    else this.unfinished.add(offset);
    if (offset === this.before?.upTo) this.before = undefined;
    return !wasFinished;
  }

  finish(offset: number): void {
    if (!this.unfinished.delete(offset)) this.overtaken.delete(offset);
    this.overtake(offset);
  }

  /**
   * All before `end` has been started, or is no message: the marker of a transaction, what was aborted. Counts once
   * all that has been started is finished.
   */
  passUpTo(end: number): void {
    const last = end - 1;
    if (this.unfinishedSize > 0 || last <= (this.highest ?? -1)) return;
    if (this.start(last)) this.finish(last);
  }

  get unfinishedSize(): number {
    return this.unfinished.size + this.overtaken.size;
  }

  /** The number of those that are overtaken: their machine is stuck, or busy. */
  get overtakenSize(): number {
    return this.overtaken.size;
  }

  /** From the lowest unfinished offset to the highest started: what would be delivered again after a crash. */
  get span(): number {
    const { highest } = this;
    const lowest = this.lowestUnfinished;
    return highest === undefined || lowest === undefined ? 0 : highest - lowest + 1;
  }

  /**
   * What a commit says once these are finished as well: all of them up to `upTo`, beyond which the metadata has no
   * room, and what was finished before. Undefined where nothing was started yet.
   */
  after(
    finished: ReadonlySet<number>,
  ): { offset: number; ahead: string; upTo: number } | undefined {
    const { highest } = this;
    if (highest === undefined) return undefined;
    const before =
      this.before !== undefined && this.before.upTo > highest ? this.before : undefined;
    const left = this.unfinishedWithout(finished);
    const [offset = highest + 1] = left;
    if (left.length === 0 && before === undefined) return { offset, ahead: '', upTo: highest };
    const own = left.length === 0 ? [offset] : left;
    const above = before?.unfinishedAbove(Math.max(highest, offset)) ?? [];
    const { metadata: ahead, upTo } = FinishedAhead.compose(
      [...own, ...above],
      before?.upTo ?? highest,
    );
    return { offset, ahead, upTo };
  }

  /** In ascending order. */
  unfinishedWithout(finished: ReadonlySet<number>): number[] {
    return [...this.overtaken, ...this.unfinished].filter((offset) => !finished.has(offset));
  }

  get lowestUnfinished(): number | undefined {
    const [lowest] = this.overtaken.size > 0 ? this.overtaken : this.unfinished;
    return lowest;
  }

  private overtake(finished: number): void {
    if (finished - this.overtakenBy < OVERTAKEN_BY) return;
    this.overtakenBy = finished;
    for (const offset of this.unfinished) {
      if (offset > finished - OVERTAKEN_BY) break;
      this.unfinished.delete(offset);
      this.overtaken.add(offset);
    }
  }
}
