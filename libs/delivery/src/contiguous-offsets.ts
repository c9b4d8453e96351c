import { FinishedAhead } from './finished-ahead.js';

/**
 * Knows, of the messages of one partition that finish in any order, up to where all of them have
 * finished: the only offset that may be committed. Offsets may have gaps (compaction, transaction
 * markers); they must be started in ascending order. Only what is unfinished takes memory, however
 * many have finished behind it.
 */
export class ContiguousOffsets {
  /** A set keeps the order of insertion: its first is the lowest. */
  private readonly unfinished = new Set<number>();
  /** Of the unfinished, those of which something is done. */
  private readonly inPart = new Set<number>();
  private highest: number | undefined;
  private first: number | undefined;
  /** What an earlier owner has finished, while not all of it has been started. */
  private before: FinishedAhead | undefined;

  /** What an earlier owner has finished ahead of what it committed is finished here as well. */
  inherit(before: FinishedAhead | undefined): void {
    this.before = before;
  }

  /** Returns whether it is still to be done. */
  start(offset: number): boolean {
    this.first ??= offset;
    this.highest = offset;
    // Delivery that begins below what was committed is of a log that is not the same any more.
    if (this.before?.covers(offset) === false) this.before = undefined;
    const wasFinished = this.before?.includes(offset) === true;
    if (!wasFinished) this.unfinished.add(offset);
    if (offset === this.before?.upTo) this.before = undefined;
    return !wasFinished;
  }

  finish(offset: number): void {
    this.unfinished.delete(offset);
    this.inPart.delete(offset);
  }

  /**
   * Something of it is done, and something is not. Delivered again it is done as a whole, after what has finished
   * behind it: so those are not passed over then, but done again as well.
   */
  doneInPart(offset: number): void {
    if (this.unfinished.has(offset)) this.inPart.add(offset);
  }

  /**
   * All before `end` has been started, or is no message: the marker of a transaction, what was aborted. Counts once
   * all that has been started is finished.
   */
  passUpTo(end: number): void {
    const last = end - 1;
    if (this.open > 0 || last <= (this.highest ?? -1)) return;
    if (this.start(last)) this.finish(last);
  }

  /** Started and not finished. */
  get open(): number {
    return this.unfinished.size;
  }

  /** From the lowest unfinished offset to the highest started: what would be delivered again after a crash. */
  get span(): number {
    const { highest } = this;
    const lowest = this.lowestUnfinished;
    return highest === undefined || lowest === undefined ? 0 : highest - lowest + 1;
  }

  /**
   * What has finished beyond the lowest unfinished offset, as {@link FinishedAhead.compose} tells it, and may be
   * passed over when it is delivered again.
   */
  get finishedAhead(): { metadata: string; isWhole: boolean } {
    if (this.highest === undefined) return { metadata: '', isWhole: true };
    if (this.inPart.size > 0) return this.upTo(Math.min(...this.inPart));
    if (this.before !== undefined) return this.withInherited(this.highest, this.before);
    const { metadata, isWhole } = FinishedAhead.compose(this.unfinished, this.highest);
    // However many are unfinished, nothing has finished among them.
    return { metadata, isWhole: isWhole || this.open === this.span };
  }

  /** The lowest unfinished offset, as far as anything has finished before it; else undefined. */
  committable(): number | undefined {
    const { highest, first } = this;
    if (highest === undefined) return undefined;
    const lowest = this.lowestUnfinished;
    if (lowest === undefined) return highest + 1;
    return lowest === first ? undefined : lowest;
  }

  private upTo(last: number): { metadata: string; isWhole: boolean } {
    const unfinished = [...this.unfinished].filter((offset) => offset <= last);
    const { metadata } = FinishedAhead.compose(unfinished, last);
    return { metadata, isWhole: this.before === undefined && this.open === this.span };
  }

  /** A commit must not lose what has not come up here again yet. */
  private withInherited(
    highest: number,
    before: FinishedAhead,
  ): { metadata: string; isWhole: boolean } {
    // What is composed begins with the offset that is committed, finished or not.
    const own = this.open === 0 ? [highest + 1] : this.unfinished;
    const above = before.unfinishedAbove(this.open === 0 ? highest + 1 : highest);
    return FinishedAhead.compose([...own, ...above], before.upTo);
  }

  get lowestUnfinished(): number | undefined {
    const [lowest] = this.unfinished;
    return lowest;
  }
}
