/**
 * Items by due time, the earliest first: a binary heap. Times and items are in separate arrays, because objects holding
 * both, created a hundred thousand times a minute, would fragment the heap of the process.
 */
export class DueQueue<T> {
  /** Infinity when empty. */
  earliestMs = Infinity;
  private readonly times: number[] = [];
  private readonly items: T[] = [];

  get size(): number {
    return this.items.length;
  }

  countDue(nowMs: number): number {
    let due = 0;
    for (const dueMs of this.times) if (dueMs <= nowMs) due += 1;
    return due;
  }

  addItem(dueMs: number, item: T): void {
    let index = this.size;
    this.earliestMs = Math.min(this.earliestMs, dueMs);
    this.times.push(dueMs);
    this.items.push(item);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.isEarlier(index, parent)) return;
      this.swap(index, parent);
      index = parent;
    }
  }

  /** Removes and returns the item due at {@link earliestMs}; undefined when empty. */
  takeEarliest(): T | undefined {
    if (this.size === 0) return undefined;
    this.swap(0, this.size - 1);
    this.times.pop();
    const first = this.items.pop();
    this.sink();
    this.earliestMs = this.times[0] ?? Infinity;
    return first;
  }

  private sink(): void {
    let index = 0;
    for (;;) {
      let earliest = index;
      for (const child of [2 * index + 1, 2 * index + 2]) {
        if (child < this.size && this.isEarlier(child, earliest)) earliest = child;
      }
      if (earliest === index) return;
      this.swap(index, earliest);
      index = earliest;
    }
  }

  private isEarlier(index: number, other: number): boolean {
    return (this.times[index] ?? Infinity) < (this.times[other] ?? Infinity);
  }

  private swap(index: number, other: number): void {
    swapEntries(this.times, index, other);
    swapEntries(this.items, index, other);
  }
}

function swapEntries(list: unknown[], index: number, other: number): void {
  [list[index], list[other]] = [list[other], list[index]];
}
