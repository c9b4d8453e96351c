import type { CallsInFlight } from '../kafka-consumer.js';

/** Calls without a service: each lasts from `begin` until `end`. */
export class TestCalls implements CallsInFlight {
  arePaused = false;
  underWay = 0;
  private readonly cutting = new AbortController();
  private readonly waiting: (() => void)[] = [];
  private readonly whenIdle: (() => void)[] = [];

  /** Aborts when the calls under way are cut off. */
  get signal(): AbortSignal {
    return this.cutting.signal;
  }

  async begin(): Promise<void> {
    while (this.arePaused) await new Promise<void>((resolve) => this.waiting.push(resolve));
    this.underWay += 1;
  }

  end(): void {
    this.underWay -= 1;
    if (this.underWay === 0) for (const resolve of this.whenIdle.splice(0)) resolve();
  }

  pause(): void {
    this.arePaused = true;
  }

  resume(): void {
    this.arePaused = false;
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  idle(): Promise<void> {
    if (this.underWay === 0) return Promise.resolve();
    return new Promise((resolve) => this.whenIdle.push(resolve));
  }

  cutOff(reason: Error): void {
    this.cutting.abort(reason);
  }

  allowWhile(): void {
    // nothing here begins a call that a lost session would forbid
  }

  wake(): void {
    // as above
  }
}
