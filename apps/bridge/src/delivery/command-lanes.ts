import { everyRealMs, realNowMs } from '#libs/clock';
import {
  type Command,
  type CommandEnd,
  type CommandWaiter,
  type DispatcherOptions,
  type Precedence,
  resultFor,
} from './command.js';
import { type CallQuality, LaneQueue } from './lane-queue.js';
import { FORBIDDEN } from './verdict.js';

const SUPERSEDED: CommandEnd = {
  kind: 'superseded',
  detail: 'a newer list of the machine came before this one was taken',
};

/**
 * The commands of one flow by machine, and their waiters. A command *waits* in its machine's lane, is *under way* from
 * {@link LaneQueue.takeBatch} on, and then *final*, or waits again. Where a new command replaces a waiting one, only
 * one of the two remains.
 */
export class CommandLanes<P> {
  readonly queue: LaneQueue<Command<P>>;

  constructor(
    private readonly options: Pick<DispatcherOptions<P>, 'limits' | 'sizeOf' | 'precedence'>,
    private readonly waiters: CommandWaiters,
  ) {
    const { limits, sizeOf } = options;
    this.queue = new LaneQueue(limits, sizeOf && (({ payload }) => sizeOf(payload)));
  }

  enqueueCommand(command: Command<P>): void {
    for (const waiter of command.waiters) this.waiters.addWaiter(waiter);
    if (this.options.precedence === undefined) {
      this.queue.enqueue(command);
      return;
    }
    const { machineId } = command;
    this.queue.replaceAll(machineId, this.remaining(this.queue.waitingOf(machineId), command));
  }

  endCommand(command: Command<P>, quality: CallQuality, end: CommandEnd): void {
    this.queue.releaseMachine(command.machineId, quality);
    this.endWaiters(command, end);
  }

  /** Returns a command to its lane until `notBeforeMs`, unless all its waiters are lost or a newer one replaces it. */
  returnToLane(command: Command<P>, quality: CallQuality = 'unknown', notBeforeMs = 0): void {
    this.dropLostWaiters(command);
    if (command.waiters.length === 0) {
      this.queue.releaseMachine(command.machineId, 'unknown');
      return;
    }
    this.queue.putBack(command, quality, notBeforeMs);
    if (this.options.precedence === undefined) return;
    const { machineId } = command;
    const waiting = this.queue.waitingOf(machineId);
    this.queue.replaceAll(
      machineId,
      waiting.reduce<readonly Command<P>[]>((all, each) => this.remaining(all, each), []),
    );
  }

  /** Postpones a command whose own time has not come; the machine's later commands stay behind it. */
  delayCommand(command: Command<P>, untilMs: number): void {
    this.waiters.delayMachine(command.machineId, untilMs);
    this.returnToLane(command, 'unknown', untilMs);
  }

  /** Drops the waiters of revoked partitions, which belong to another process now; leaves commands under way alone. */
  dropLost(): void {
    this.queue.removeWaiting((command) => {
      this.dropLostWaiters(command);
      return command.waiters.length === 0;
    });
  }

  private dropLostWaiters(command: Command<P>): void {
    const lost = command.waiters.filter(({ isLost }) => isLost);
    if (lost.length === 0) return;
    for (const waiter of lost) this.waiters.abandonWaiter(waiter);
    command.waiters = command.waiters.filter(({ isLost }) => !isLost);
  }

  private endWaiters(command: Command<P>, end: CommandEnd): void {
    for (const waiter of command.waiters) this.waiters.endWaiter(waiter, end);
  }

  /** The waiting commands of a machine, oldest first, after `newest` has replaced those it can. */
  private remaining(waiting: readonly Command<P>[], newest: Command<P>): readonly Command<P>[] {
    const older = waiting.at(-1);
    if (older === undefined) return [newest];
    const isCalled = this.queue.isInFlight(newest.machineId);
    const precedence =
      this.options.precedence?.(older.payload, newest.payload, isCalled) ?? 'newer';
    if (precedence === 'apart') return [...waiting, newest];
    const kept = this.replaceOneOf(older, newest, precedence);
    return kept === older ? waiting : this.remaining(waiting.slice(0, -1), kept);
  }

  /** Returns which of two commands remains. The waiters of the other end as superseded, or join it. */
  private replaceOneOf(
    older: Command<P>,
    newer: Command<P>,
    precedence: Exclude<Precedence, 'apart'>,
  ): Command<P> {
    const [kept, other] = precedence === 'older' ? [older, newer] : [newer, older];
    kept.attempts = Math.max(older.attempts, newer.attempts);
    kept.failedLookUps = Math.max(older.failedLookUps, newer.failedLookUps);
    // A 403 is about the machine, any other status about the payload.
    if (other.doubtfulRefusal?.status === FORBIDDEN) kept.doubtfulRefusal ??= other.doubtfulRefusal;
    if (precedence === 'both') kept.waiters = [...older.waiters, ...newer.waiters];
    else this.endWaiters(other, SUPERSEDED);
    return kept;
  }
}

const SWEEP_MS = 250;

/** The waiters of one flow's commands, each from receipt to its final result. */
export class CommandWaiters {
  /** In the order of insertion: the first has waited longest. */
  private readonly waiting = new Set<CommandWaiter>();
  /** Real milliseconds until which a machine's commands wait for their own time rather than for the service. */
  private readonly delayedUntilMs = new Map<string, number>();
  private stopSweep: (() => void) | undefined;

  /** @param onDeferred called once for each waiter that has waited `deferredAfterMs` of real time for the service */
  constructor(
    private readonly deferredAfterMs: number,
    private readonly onDeferred: (waiter: CommandWaiter) => void,
  ) {}

  get size(): number {
    return this.waiting.size;
  }

  /** Real milliseconds that the oldest waiter has waited; 0 if there is none. */
  oldestAgeMs(nowMs: number): number {
    const [oldest] = this.waiting;
    return oldest === undefined ? 0 : nowMs - oldest.sinceMs;
  }

  addWaiter(waiter: CommandWaiter): void {
    this.waiting.add(waiter);
    this.stopSweep ??= everyRealMs(SWEEP_MS, () => this.sweep(realNowMs()));
  }

  /** The machine's next command has to wait until `untilMs`; until then its waiters do not wait for the service. */
  delayMachine(machineId: string, untilMs: number): void {
    this.delayedUntilMs.set(machineId, untilMs);
  }

  endWaiter(waiter: CommandWaiter, end: CommandEnd): void {
    if (!this.waiting.delete(waiter)) return;
    waiter.results.addResult(resultFor(waiter, end), waiter.item);
  }

  abandonWaiter(waiter: CommandWaiter): void {
    if (this.waiting.delete(waiter)) waiter.results.message.abandon();
  }

  failWaiter(waiter: CommandWaiter, error: unknown): void {
    if (this.waiting.delete(waiter)) waiter.results.failCommand(error);
  }

  private sweep(nowMs: number): void {
    if (this.size === 0) {
      this.stopSweep?.();
      this.stopSweep = undefined;
    }
    const receivedBeforeMs = nowMs - this.deferredAfterMs;
    for (const waiter of this.waiting) {
      if (waiter.sinceMs > receivedBeforeMs) break;
      if (waiter.isDeferred) continue;
      if ((this.delayedUntilMs.get(waiter.machineId) ?? -Infinity) > receivedBeforeMs) continue;
      waiter.isDeferred = true;
      this.onDeferred(waiter);
    }
    for (const [machineId, untilMs] of this.delayedUntilMs) {
      if (untilMs <= receivedBeforeMs) this.delayedUntilMs.delete(machineId);
    }
  }
}
