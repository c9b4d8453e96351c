import { everyRealMs, realNowMs } from '#libs/clock';
import { type CommandResult } from './command-result.js';
import { type CommandEnd, type CommandWaiter } from './command.js';

const SWEEP_MS = 250;

/** Everyone who waits for a command of one flow, from receipt to the final result. */
export class OpenCommands {
  /** A set keeps the order of insertion: the first has waited longest. */
  private readonly waiting = new Set<CommandWaiter>();
  private readonly deferred = new Set<CommandWaiter>();
  private stopSweep: (() => void) | undefined;

  /** @param onDeferred told once of each that has waited `deferredAfterMs` of real time */
  constructor(
    private readonly deferredAfterMs: number,
    private readonly onDeferred: (waiter: CommandWaiter) => void,
  ) {}

  get size(): number {
    return this.waiting.size + this.deferred.size;
  }

  /** Real milliseconds for which the longest has waited; 0 when nobody waits. */
  oldestAgeMs(nowMs: number): number {
    const [deferred] = this.deferred;
    const [waiting] = this.waiting;
    const oldest = deferred ?? waiting;
    return oldest === undefined ? 0 : nowMs - oldest.sinceMs;
  }

  add(waiter: CommandWaiter): void {
    this.waiting.add(waiter);
    this.stopSweep ??= everyRealMs(SWEEP_MS, () => {
      this.sweep(realNowMs());
    });
  }

  settle(waiter: CommandWaiter, end: CommandEnd): void {
    if (!this.forget(waiter)) return;
    const { machineId, calls: attempts } = waiter;
    const result: CommandResult = { machineId, attempts, ...end };
    waiter.answers.settle(result);
  }

  abandon(waiter: CommandWaiter): void {
    if (this.forget(waiter)) waiter.answers.message.abandon();
  }

  fail(waiter: CommandWaiter, error: unknown): void {
    if (this.forget(waiter)) waiter.answers.message.fail(error);
  }

  private sweep(nowMs: number): void {
    if (this.size === 0) {
      this.stopSweep?.();
      this.stopSweep = undefined;
    }
    for (const waiter of this.waiting) {
      if (nowMs - waiter.sinceMs < this.deferredAfterMs) return;
      this.waiting.delete(waiter);
      this.deferred.add(waiter);
      this.onDeferred(waiter);
    }
  }

  private forget(waiter: CommandWaiter): boolean {
    return this.waiting.delete(waiter) || this.deferred.delete(waiter);
  }
}
