/** Random numbers, the same for the same seed (Mulberry32). */
export class Chance {
  constructor(private state: number) {}

  /** A number from 0 to below 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  upTo(most: number): number {
    return this.next() * most;
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.upTo(most - least + 1));
  }

  pick<T>(of: readonly T[]): T {
    const picked = of[Math.floor(this.upTo(of.length))];
    if (picked === undefined) throw new Error('there is nothing to pick from');
    return picked;
  }

  /** True with the given probability from 0 to 1. */
  happens(probability: number): boolean {
    return this.next() < probability;
  }
}
