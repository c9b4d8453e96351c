interface Due<T> {
  dueMs: number;
  item: T;
}

/** What is due when, the earliest first: a binary heap, cheap with a hundred thousand machines. */
export class DueQueue<T> {
  private readonly heap: Due<T>[] = [];

  get size(): number {
    return this.heap.length;
  }

  /** Undefined when empty. */
  get earliestMs(): number | undefined {
    return this.heap[0]?.dueMs;
  }

  add(dueMs: number, item: T): void {
    this.heap.push({ dueMs, item });
    let index = this.heap.length - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.isEarlier(index, parent)) return;
      this.swap(index, parent);
      index = parent;
    }
  }

  take(): Due<T> | undefined {
    const first = this.heap[0];
    const last = this.heap.pop();
    if (first === undefined || last === undefined || this.heap.length === 0) return first;
    this.heap[0] = last;
    this.sink();
    return first;
  }

  private sink(): void {
    let index = 0;
    for (;;) {
      let earliest = index;
      for (const child of [2 * index + 1, 2 * index + 2]) {
        if (child < this.heap.length && this.isEarlier(child, earliest)) earliest = child;
      }
      if (earliest === index) return;
      this.swap(index, earliest);
      index = earliest;
    }
  }

  private isEarlier(index: number, other: number): boolean {
    return (this.heap[index]?.dueMs ?? Infinity) < (this.heap[other]?.dueMs ?? Infinity);
  }

  private swap(index: number, other: number): void {
    const [a, b] = [this.heap[index], this.heap[other]];
    if (a === undefined || b === undefined) return;
    this.heap[index] = b;
    this.heap[other] = a;
  }
}
