import { ContiguousOffsets, DoneItems } from '#libs/delivery';
import { type InboundRecord } from '../reading/inbound-record.js';
import { type CommittedProgress } from './committed-offsets.js';

/** Records handed over are dropped by the thousand: one by one each would move all that wait. */
const FORGET_AT = 1000;

/** What a commit says of how far a partition is done. */
export interface CommitPosition {
  /** Before it all is finished. */
  offset: number;
  /** What is finished beyond it, as far as `upTo`: there is no room for more. */
  ahead: string;
  upTo: number;
  /** What is done of messages that are not finished; undefined where there is no room for it. */
  items: string | undefined;
}

/**
 * How far a partition has come: what of it has been fetched, what has been handed over, and what is finished.
 * Keeps count and calls nobody.
 */
export class PartitionProgress {
  private readonly offsets = new ContiguousOffsets();
  private items = new DoneItems();
  private readonly waiting = new WaitingRecords();
  private unfinishedBytes = 0;

  /** @param end the offset behind all that was fetched, markers of transactions and the like included */
  addFetched(records: readonly InboundRecord[], end: number): void {
    for (const record of records) {
      if (this.waiting.add(record)) this.unfinishedBytes += record.bytes;
    }
    this.waiting.fetchedUpTo(end);
  }

  /** The next to be handed over, without those that an earlier owner has finished; undefined when none waits. */
  nextRecord(): InboundRecord | undefined {
    for (let record = this.waiting.take(); record !== undefined; record = this.waiting.take()) {
      if (this.offsets.start(record.offset)) return record;
      this.unfinishedBytes -= record.bytes;
    }
    this.offsets.passUpTo(this.waiting.takenUpTo);
    return undefined;
  }

  /** Nothing of what waits will be handed over. */
  dropWaiting(): void {
    this.waiting.clear();
  }

  /** What has been fetched will be fetched again; only before any of it is handed over. */
  forgetFetched(): void {
    this.waiting.reset();
    this.unfinishedBytes = 0;
  }

  /** Whether it is committed that this of the message is done. */
  isItemDone(offset: number, item: number): boolean {
    return this.items.has(offset, item);
  }

  itemDone(offset: number, item: number): void {
    this.items.add(offset, item);
  }

  /** A message that was handed over has ended; one that was abandoned stays unfinished. */
  recordEnded({ offset, bytes }: InboundRecord, how: 'finished' | 'abandoned'): void {
    if (how === 'finished') {
      this.offsets.finish(offset);
      this.items.delete(offset);
    }
    this.offsets.passUpTo(this.waiting.takenUpTo);
    this.unfinishedBytes -= bytes;
  }

  /** What earlier owners have finished is finished here as well, and what they have done of other messages is done. */
  inheritProgress({
    finished,
    floor,
    items,
  }: Pick<CommittedProgress, 'finished' | 'floor' | 'items'>): void {
    this.offsets.inherit(finished, floor);
    this.items = items;
  }

  /** What a commit says once these are finished, and these done; undefined where nothing was handed over yet. */
  positionAfter(
    finished: ReadonlySet<number>,
    done: readonly { offset: number; item: number }[],
  ): CommitPosition | undefined {
    const place = this.offsets.after(finished);
    if (place === undefined) return undefined;
    if (this.items.isEmpty && done.length === 0) return { ...place, items: '' };
    const items = this.items.copy();
    for (const { offset, item } of done) items.add(offset, item);
    for (const offset of finished) items.delete(offset);
    return { ...place, items: items.compose() };
  }

  /** The lowest offset that is not finished; undefined before the first fetch. */
  get position(): number | undefined {
    const { takenUpTo } = this.waiting;
    return this.offsets.lowestUnfinished ?? (takenUpTo === 0 ? undefined : takenUpTo);
  }

  /** Behind all that has been fetched; 0 before the first fetch. */
  get fetchedEnd(): number {
    return this.waiting.fetchedEnd;
  }

  /** Messages fetched and not finished. */
  get size(): number {
    return this.waiting.size + this.offsets.open;
  }

  /** Of the messages fetched that have not ended. */
  get bytes(): number {
    return this.unfinishedBytes;
  }

  /** From the lowest unfinished offset to the highest handed over. */
  get span(): number {
    return this.offsets.span;
  }
}

/** Records of one partition that have been fetched and not yet handed over, in their order. */
class WaitingRecords {
  private readonly records: InboundRecord[] = [];
  private taken = 0;
  private end = 0;

  get size(): number {
    return this.records.length - this.taken;
  }

  private get first(): InboundRecord | undefined {
    return this.records[this.taken];
  }

  /** Behind all that has been fetched; 0 before the first fetch. */
  get fetchedEnd(): number {
    return this.end;
  }

  /** Before this, all that has been fetched has been taken as well; 0 before the first fetch. */
  get takenUpTo(): number {
    return this.first?.offset ?? this.end;
  }

  /** Returns whether it is new: after a rebalance that left the partition here, Kafka hands out again what is here. */
  add(record: InboundRecord): boolean {
    if (record.offset < this.end) return false;
    this.end = record.offset + 1;
    this.records.push(record);
    return true;
  }

  /** What has been fetched ends there, which may be behind the last record. */
  fetchedUpTo(end: number): void {
    this.end = Math.max(this.end, end);
  }

  take(): InboundRecord | undefined {
    const { first } = this;
    if (first === undefined) return undefined;
    this.taken += 1;
    if (this.taken >= FORGET_AT || this.size === 0) {
      this.records.splice(0, this.taken);
      this.taken = 0;
    }
    return first;
  }

  /** As if nothing had been fetched; only before the first is taken. */
  reset(): void {
    this.clear();
    this.end = 0;
  }

  clear(): void {
    this.end = this.takenUpTo;
    this.records.length = 0;
    this.taken = 0;
  }
}
