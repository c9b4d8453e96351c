import { ContiguousOffsets, type FinishedAhead } from '#libs/delivery';
import { type InboundRecord } from './inbound-message.js';
import { WaitingRecords } from './waiting-records.js';

/**
 * How far a partition has come: what of it has been fetched, what has been handed over, and what is finished.
 * Keeps count and calls nobody.
 */
export class PartitionProgress {
  private readonly offsets = new ContiguousOffsets();
  private readonly waiting = new WaitingRecords();
  private unfinishedBytes = 0;

  /** @param end the offset behind all that was fetched, markers of transactions and the like included */
  fetched(records: readonly InboundRecord[], end: number): void {
    for (const record of records) {
      if (this.waiting.add(record)) this.unfinishedBytes += record.bytes;
    }
    this.waiting.fetchedUpTo(end);
  }

  /** The next to be handed over, without those that an earlier owner has finished; undefined when none waits. */
  next(): InboundRecord | undefined {
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

  doneInPart(offset: number): void {
    this.offsets.doneInPart(offset);
  }

  /** A message that was handed over has ended; one that was abandoned stays unfinished. */
  ended({ offset, bytes }: InboundRecord, how: 'finished' | 'abandoned'): void {
    if (how === 'finished') this.offsets.finish(offset);
    this.offsets.passUpTo(this.waiting.takenUpTo);
    this.unfinishedBytes -= bytes;
  }

  /** What an earlier owner has finished ahead of what it committed is finished here as well. */
  inherit(finished: FinishedAhead | undefined): void {
    this.offsets.inherit(finished);
  }

  /** The offset to commit; undefined while nothing is finished. */
  committable(): number | undefined {
    return this.offsets.committable();
  }

  /** What has finished ahead of {@link committable}, as its commit's metadata, and whether that is all of it. */
  get finishedAhead(): { metadata: string; isWhole: boolean } {
    return this.offsets.finishedAhead;
  }

  /** The lowest offset that has been handed over and is not finished. */
  get lowestUnfinished(): number | undefined {
    return this.offsets.lowestUnfinished;
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
