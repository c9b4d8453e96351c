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

/** Records handed over are removed in thousands: removing one moves all that wait. */
const FORGET_AT = 1000;
/**
 * An unfinished offset is overtaken once one finishes that is higher by this number (or up to twice it). As many may
 * wait below the latest finished one: fewer than those at which a paused partition is resumed.
 */
const OVERTAKEN_BY = 250;

/** Progress of a partition: the records that are fetched, handed over and finished. Pure: no I/O, no callbacks. */
export class PartitionProgress implements CommittableProgress {
  private readonly offsets = new ContiguousOffsets();
  private items: DoneItems = new Map();
  /** Inherited items belong to another log if delivery begins below this offset. */
  private itemsFrom = 0;
  /** Unfinished messages deferred by this process, and the offset up to which earlier owners deferred all. */
  private readonly deferred = new Set<number>();
  private deferredBefore = -1;
  /** Fetched records in the order of offsets; the first `handedOver` of them have been handed over. */
  private readonly fetched: FetchedRecord[] = [];
  private handedOver = 0;
  /** The offset after the latest fetch; 0 before the first. */
  fetchedEnd = 0;
  /** Bytes of the fetched messages that have not ended. */
  bytes = 0;

  /** @param end the offset after the fetch, transaction markers included */
  addFetched(records: readonly FetchedRecord[], end: number): void {
    for (const record of records) {
      // After a rebalance that leaves the partition here, kafkajs fetches records again.
      if (record.position < this.fetchedEnd) continue;
      this.fetchedEnd = record.position + 1;
      this.fetched.push(record);
      this.bytes += record.bytes;
    }
    this.fetchedEnd = Math.max(this.fetchedEnd, end);
  }

  /** Removes the next record to hand over, skipping those that an earlier owner finished; undefined when none waits. */
  nextRecord(): FetchedRecord | undefined {
    for (let record = this.takeFetched(); record !== undefined; record = this.takeFetched()) {
      if (this.offsets.startOffset(record.position)) {
        if (record.position < this.itemsFrom) this.items = new Map();
        this.itemsFrom = 0;
        return record;
      }
      this.bytes -= record.bytes;
    }
    this.offsets.passUpTo(this.handedOverUpTo);
    return undefined;
  }

  private takeFetched(): FetchedRecord | undefined {
    const record = this.fetched[this.handedOver];
    if (record === undefined) return undefined;
    this.handedOver += 1;
    if (this.handedOver >= FORGET_AT || this.handedOver === this.fetched.length) {
      this.fetched.splice(0, this.handedOver);
      this.handedOver = 0;
    }
    return record;
  }

  /** All fetched records below this offset have been handed over; 0 before the first fetch. */
  private get handedOverUpTo(): number {
    return this.fetched[this.handedOver]?.position ?? this.fetchedEnd;
  }

  /** Drops the waiting records, which are not handed over. */
  dropWaiting(): void {
    this.fetchedEnd = this.handedOverUpTo;
    this.fetched.length = 0;
    this.handedOver = 0;
  }

  /** Forgets the fetched records, which are fetched again. Only before any is handed over. */
  forgetFetched(): void {
    this.dropWaiting();
    this.fetchedEnd = 0;
    this.bytes = 0;
  }

  isItemDone(offset: number, item: number): boolean {
    return this.items.get(offset)?.has(item) === true;
  }

  /** Records the item or deferral of a committed entry; {@link recordEnded} records the end of its messages. */
  entryCommitted({ offsets, item, isDeferral }: Omit<CommittedEntry, 'isLast'>): void {
    for (const offset of offsets) {
      if (item !== undefined) addItem(this.items, offset, item);
      if (isDeferral) this.deferred.add(offset);
    }
  }

  wasDeferred(offset: number): boolean {
    return offset <= this.deferredBefore;
  }

  /** Records the end of a message; an abandoned one stays unfinished. */
  recordEnded(
    { offset, bytes }: Pick<InboundRecord, 'offset' | 'bytes'>,
    how: 'finished' | 'abandoned',
  ): void {
    if (how === 'finished') {
      this.offsets.finishOffset(offset);
      this.items.delete(offset);
    }
    this.deferred.delete(offset);
    this.offsets.passUpTo(this.handedOverUpTo);
    this.bytes -= bytes;
  }

  /** Takes over the messages and items that earlier owners have finished. */
  inheritProgress(earlierProgress: Omit<CommittedProgress, 'transaction'>): void {
    const { finished, floor, items, begin, deferredUpTo = -1 } = earlierProgress;
    this.offsets.inheritFinished(finished, floor);
    this.items = items;
    // Without a floor, the log ends before the committed offset.
    if (floor === 0) this.itemsFrom = begin;
    this.deferredBefore = deferredUpTo;
  }

  positionAfter(entries: readonly CommittedEntry[] = []): CommitPosition | undefined {
    const finished = new Set<number>();
    const deferred = new Set<number>();
    for (const { offsets, isLast, isDeferral } of entries) {
      for (const offset of offsets) {
        if (isLast) finished.add(offset);
        if (isDeferral) deferred.add(offset);
      }
    }
    const place = this.withDeferred(this.offsets.placeAfter(finished), finished, deferred);
    if (place === undefined) return undefined;
    const done = entries.filter(({ item }) => item !== undefined);
    if (this.items.size === 0 && done.length === 0) return { ...place, items: '' };
    const items = new Map([...this.items].map(([offset, ofIt]) => [offset, new Set(ofIt)]));
    for (const { offsets, item = 0 } of done)
      for (const offset of offsets) addItem(items, offset, item);
    for (const offset of finished) items.delete(offset);
    return { ...place, items: composeItems(items) };
  }

  /** A deferred message above one that is not deferred yet may be deferred twice: better than never. */
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
    const { handedOverUpTo } = this;
    return this.offsets.lowestUnfinished ?? (handedOverUpTo === 0 ? undefined : handedOverUpTo);
  }

  get size(): number {
    return this.fetched.length - this.handedOver + this.offsets.unfinishedSize;
  }

  /** The number of unfinished messages that later ones have overtaken. */
  get overtaken(): number {
    return this.offsets.overtakenSize;
  }

  get span(): number {
    return this.offsets.span;
  }
}

/**
 * Tracks messages of one partition that finish in any order, and the offset up to which all have finished: the only
 * one that may be committed. Offsets may have gaps (compaction, transaction markers) and must be started in ascending
 * order. Only unfinished offsets take memory, however many have finished above them.
 */
export class ContiguousOffsets {
  /** Sets keep the order of insertion: their first element is the lowest offset. */
  private readonly unfinished = new Set<number>();
  /** Unfinished offsets that others have overtaken; all of them are lower than those in `unfinished`. */
  private readonly overtaken = new Set<number>();
  private highest: number | undefined;
  /** The finished offset at the latest search for overtaken ones. */
  private overtakenBy = 0;
  /** Offsets that an earlier owner has finished ahead, until all of them have been started. */
  private finishedEarlier: FinishedAhead | undefined;
  /** Offsets below this are finished: an earlier owner has committed this offset. */
  private floor = 0;

  /** Takes over the committed offset of an earlier owner and the offsets that it finished ahead of it. */
  inheritFinished(before: FinishedAhead | undefined, floor = 0): void {
    this.finishedEarlier = before;
    this.floor = floor;
  }

  /** Returns whether the offset is unfinished. */
  startOffset(offset: number): boolean {
    this.highest = offset;
    if (offset < this.floor) return false;
    // Delivery below the committed offset is of another log.
    if (this.finishedEarlier?.covers(offset) === false) this.finishedEarlier = undefined;
    const wasFinished = this.finishedEarlier?.includes(offset) === true;
    if (wasFinished) this.markOvertaken(offset);
    else this.unfinished.add(offset);
    if (offset === this.finishedEarlier?.upTo) this.finishedEarlier = undefined;
    return !wasFinished;
  }

  finishOffset(offset: number): void {
    if (!this.unfinished.delete(offset)) this.overtaken.delete(offset);
    this.markOvertaken(offset);
  }

  /**
   * Notes that every offset below `end` has been started or is not a message (a transaction marker, an aborted
   * record). Takes effect once all started offsets are finished.
   */
  passUpTo(end: number): void {
    const last = end - 1;
    if (this.unfinishedSize > 0 || last <= (this.highest ?? -1)) return;
    if (this.startOffset(last)) this.finishOffset(last);
  }

  get unfinishedSize(): number {
    return this.unfinished.size + this.overtaken.size;
  }

  /** Their machine is stuck, or busy. */
  get overtakenSize(): number {
    return this.overtaken.size;
  }

  /** Offsets from the lowest unfinished to the highest started: a crash delivers them again. */
  get span(): number {
    const { highest } = this;
    const lowest = this.lowestUnfinished;
    return highest === undefined || lowest === undefined ? 0 : highest - lowest + 1;
  }

  /**
   * The position to commit once these offsets are finished as well. Its metadata has room for the state of offsets up
   * to `upTo`. Undefined before any offset is started.
   */
  placeAfter(
    finished: ReadonlySet<number>,
  ): { offset: number; ahead: string; upTo: number } | undefined {
    const { highest, finishedEarlier } = this;
    if (highest === undefined) return undefined;
    const before = (finishedEarlier?.upTo ?? -1) > highest ? finishedEarlier : undefined;
    const remaining = this.unfinishedWithout(finished);
    const [offset = highest + 1] = remaining;
    if (remaining.length === 0 && before === undefined) return { offset, ahead: '', upTo: highest };
    const own = remaining.length === 0 ? [offset] : remaining;
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

  private markOvertaken(finished: number): void {
    if (finished - this.overtakenBy < OVERTAKEN_BY) return;
    this.overtakenBy = finished;
    for (const offset of this.unfinished) {
      if (offset > finished - OVERTAKEN_BY) break;
      this.unfinished.delete(offset);
      this.overtaken.add(offset);
    }
  }
}
