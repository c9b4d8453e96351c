import { everyRealMs, realNowMs } from '#libs/clock';
import { type CommandEnd, type CommandWaiter, resultFor } from './command.js';

const SWEEP_MS = 250;

/** Everyone who waits for a command of one flow, from receipt to the final result. */
export class OpenCommands {
  /** A set keeps the order of insertion: the first has waited longest. */
  private readonly open = new Set<CommandWaiter>();
  /** Until when, in real milliseconds, a machine's commands waited for something else than the service. */
  private readonly heldUntilMs = new Map<string, number>();
  private stopSweep: (() => void) | undefined;

  /** @param onDeferred told once of each that has waited `deferredAfterMs` of real time for the service */
  constructor(
    private readonly deferredAfterMs: number,
    private readonly onDeferred: (waiter: CommandWaiter) => void,
  ) {}

  get size(): number {
    return this.open.size;
  }

  /** Real milliseconds for which the longest has waited; 0 when nobody waits. */
  oldestAgeMs(nowMs: number): number {
    const [oldest] = this.open;
    return oldest === undefined ? 0 : nowMs - oldest.sinceMs;
  }

  add(waiter: CommandWaiter): void {
    this.open.add(waiter);
    this.stopSweep ??= everyRealMs(SWEEP_MS, () => {
      this.sweep(realNowMs());
    });
  }

  /** The time of the machine's next command has not come: nobody there waits for the service before that. */
  hold(machineId: string, untilMs: number): void {
    this.heldUntilMs.set(machineId, untilMs);
  }

  settle(waiter: CommandWaiter, end: CommandEnd): void {
    if (!this.open.delete(waiter)) return;
    waiter.answers.settle(resultFor(waiter, end), waiter.item);
  }

  abandon(waiter: CommandWaiter): void {
    if (this.open.delete(waiter)) waiter.answers.message.abandon();
  }

  fail(waiter: CommandWaiter, error: unknown): void {
    if (this.open.delete(waiter)) waiter.answers.message.fail(error);
  }

  private sweep(nowMs: number): void {
    if (this.size === 0) {
      this.stopSweep?.();
      this.stopSweep = undefined;
    }
    const receivedBeforeMs = nowMs - this.deferredAfterMs;
    for (const waiter of this.open) {
      if (waiter.sinceMs > receivedBeforeMs) break;
      if (waiter.isDeferred) continue;
      if ((this.heldUntilMs.get(waiter.machineId) ?? -Infinity) > receivedBeforeMs) continue;
      waiter.isDeferred = true;
      this.onDeferred(waiter);
    }
    for (const [machineId, untilMs] of this.heldUntilMs) {
      if (untilMs <= receivedBeforeMs) this.heldUntilMs.delete(machineId);
    }
  }
}
