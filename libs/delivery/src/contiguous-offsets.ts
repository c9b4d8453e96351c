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
  private highest: number | undefined;
  /** What an earlier owner has finished, while not all of it has been started. */
  private before: FinishedAhead | undefined;
  /** Offsets below this are finished: an earlier owner has committed it. */
  private floor = 0;

  /** What an earlier owner has finished ahead of what it committed is finished here as well. */
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
    if (!wasFinished) this.unfinished.add(offset);
    if (offset === this.before?.upTo) this.before = undefined;
    return !wasFinished;
  }

  finish(offset: number): void {
    this.unfinished.delete(offset);
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
    const left = [...this.unfinished].filter((offset) => !finished.has(offset));
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

  get lowestUnfinished(): number | undefined {
    const [lowest] = this.unfinished;
    return lowest;
  }
}
