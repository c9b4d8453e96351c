import type { DeadLetter } from './dead-letter.js';

interface Kept<T> {
  failedAt: number;
  writtenAtMs: number;
  partition: number;
  offset: number;
  item: T;
}

/** Keeps the items of the dead letters that failed last, however many are offered. */
export class Newest<T> {
  private kept: Kept<T>[] = [];
  private count = 0;

  constructor(private readonly limit: number) {}

  /** How many have been offered. */
  get offered(): number {
    return this.count;
  }

  /** Keeps the item, not the dead letter: a message may be large, and there may be many. */
  offer({ record, failedAt }: DeadLetter, item: T): void {
    const { partition, offset, timestamp } = record;
    this.count += 1;
    this.kept.push({ failedAt, writtenAtMs: Number(timestamp), partition, offset, item });
    // Sorted only now and then: a topic may hold millions.
    if (this.kept.length >= 2 * this.limit) this.kept = this.sorted();
  }

  /** The newest last, where a terminal shows it. */
  inOrder(): T[] {
    return this.sorted().map(({ item }) => item);
  }

  private sorted(): Kept<T>[] {
    return this.kept.sort(byAge).slice(-this.limit);
  }
}

function byAge(a: Kept<unknown>, b: Kept<unknown>): number {
  return (
    a.failedAt - b.failedAt ||
    a.writtenAtMs - b.writtenAtMs ||
    a.partition - b.partition ||
    a.offset - b.offset
  );
}
