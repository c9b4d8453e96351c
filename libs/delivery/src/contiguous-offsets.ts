interface Entry {
  readonly offset: number;
  finished: boolean;
}

/**
 * Knows, of the messages of one partition that finish in any order, up to where all of them have
 * finished: the only offset that may be committed. Offsets may have gaps (compaction, transaction
 * markers); they must be started in ascending order.
 */
export class ContiguousOffsets {
  private readonly open = new Map<number, Entry>();
  private readonly order: Entry[] = [];
  private head = 0;
  private next: number | undefined;

  /** Messages started and not yet covered by {@link committable}. */
  get pending(): number {
    return this.order.length - this.head;
  }

  start(offset: number): void {
    const entry = { offset, finished: false };
    this.open.set(offset, entry);
    this.order.push(entry);
  }

  finish(offset: number): void {
    const entry = this.open.get(offset);
    if (entry === undefined) return;
    entry.finished = true;
    this.open.delete(offset);
    for (let first = this.order[this.head]; first?.finished; first = this.order[this.head]) {
      this.next = first.offset + 1;
      this.head += 1;
    }
    this.forgetCovered();
  }

  /** The lowest unfinished offset, as far as anything has finished before it; else undefined. */
  committable(): number | undefined {
    return this.next;
  }

  /** Dropping the covered entries in bulk keeps a finish cheap whatever the number of open ones. */
  private forgetCovered(): void {
    if (this.head < 1024 && this.head < this.order.length) return;
    this.order.splice(0, this.head);
    this.head = 0;
  }
}
