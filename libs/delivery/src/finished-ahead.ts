/** Below what a broker takes as a commit's metadata (4096 by default). */
const MAX_LENGTH = 3000;
const FORM = /^ahead\/1 ([0-9a-z]{1,11}) ((?:[0-9a-z]{1,11}(?:\.[0-9a-z]{1,11})*)?)$/;

/**
 * Which messages beyond the committed offset have finished as well, as told in the commit's metadata, so
 * that whoever owns the partition next does not repeat them: an older list would come back for a moment.
 */
export class FinishedAhead {
  private constructor(
    private readonly committed: number,
    /** Of what lies beyond nothing is known. */
    readonly upTo: number,
    private readonly unfinished: ReadonlySet<number>,
  ) {}

  /** Undefined when the metadata says nothing, or is not ours. */
  static read(committed: number, metadata: string | null): FinishedAhead | undefined {
    const [, upTo, gaps] = FORM.exec(metadata ?? '') ?? [];
    if (upTo === undefined || gaps === undefined) return undefined;
    const unfinished = new Set([committed]);
    let offset = committed;
    for (const gap of gaps === '' ? [] : gaps.split('.')) {
      offset += parseInt(gap, 36);
      unfinished.add(offset);
    }
    return new FinishedAhead(committed, parseInt(upTo, 36), unfinished);
  }

  /**
   * Metadata for a commit of the lowest unfinished offset; empty when nothing beyond it has finished.
   * `upTo` is lower than `highest` where so many are unfinished that it does not tell of all that have.
   *
   * @param unfinished in ascending order; the first is the offset to be committed
   * @param highest the highest offset started
   */
  static compose(
    unfinished: Iterable<number>,
    highest: number,
  ): { metadata: string; upTo: number } {
    const gaps: string[] = [];
    let upTo = highest;
    let length = 0;
    let last: number | undefined;
    for (const offset of unfinished) {
      const gap = last === undefined ? '' : (offset - last).toString(36);
      length += gap.length + 1;
      if (length > MAX_LENGTH) {
        // What lies beyond may be repeated.
        upTo = offset - 1;
        break;
      }
      if (last !== undefined) gaps.push(gap);
      last = offset;
    }
    const nothingAhead = last === undefined || (upTo === last && gaps.every((gap) => gap === '1'));
    const metadata = nothingAhead ? '' : `ahead/1 ${upTo.toString(36)} ${gaps.join('.')}`;
    return { metadata, upTo };
  }

  /** Those above the offset, up to {@link upTo}, that have not finished. */
  unfinishedAbove(offset: number): number[] {
    return [...this.unfinished].filter((unfinished) => unfinished > offset);
  }

  /** Whether anything is known of the offset. */
  covers(offset: number): boolean {
    return offset >= this.committed && offset <= this.upTo;
  }

  includes(offset: number): boolean {
    return this.covers(offset) && !this.unfinished.has(offset);
  }
}
