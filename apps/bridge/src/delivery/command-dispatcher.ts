import { Logger } from '@nestjs/common';
import { realNowMs, WakeTimer } from '#libs/clock';
import { backOffMs } from '#libs/delivery';
import {
  type Admission,
  Command,
  CommandWaiter,
  type DispatcherOptions,
  GO,
  type MessageResults,
} from './command.js';
import { FlowStatus } from './flow-status.js';
import { CommandLanes, CommandWaiters } from './command-lanes.js';
import { ServiceCaller } from './service-caller.js';
import { RETRY_BACK_OFF } from './verdict.js';

type Unavailable = Extract<Admission, { kind: 'unavailable' }>;

/** Calls that began together end within a few milliseconds: without this wait, parts of a split batch stay apart. */
const REUNION_MS = 5;

/**
 * Delivers the commands of one flow to the service: those of one machine one at a time and in order, those of different
 * machines concurrently or in one call, each until the service has taken or refused it. While no call gets through, the
 * dispatcher pauses, probes with single calls, and resumes by itself. It owns the flow's lanes; each message ends in
 * its `finish`, `abandon` or `fail`.
 */
export class CommandDispatcher<P> {
  readonly name: string;
  readonly status: FlowStatus;
  readonly waiters: CommandWaiters;
  readonly caller: ServiceCaller<P>;
  private readonly logger = new Logger('CommandDispatcher');
  private readonly lanes: CommandLanes<P>;
  private readonly spread = new CallSpread();
  private readonly timer = new WakeTimer(() => {
    // The linger time is over, no batch is full: the machines may leave in several calls, see {@link CallSpread}.
    const nowMs = realNowMs();
    this.requestSlots(this.spread.callsFor(this.lanes.queue.readyMachines(nowMs), nowMs));
  });
  private awaitsSlot = false;

  constructor(private readonly options: DispatcherOptions<P>) {
    this.name = options.flow;
    this.status = new FlowStatus(options.flow, options.hold, () => this.isStuck());
    this.waiters = new CommandWaiters(options.deferredAfterMs, options.onDeferred);
    this.lanes = new CommandLanes(options, this.waiters);
    this.caller = new ServiceCaller(this.lanes, this.status, options);
    options.hold.onRelease(() => this.requestSlots());
  }

  /** Commands waiting for a call, without those under way. */
  get waiting(): number {
    return this.lanes.queue.waitingEntries;
  }

  /** Machines with a command waiting or under way. */
  get busyMachines(): number {
    return this.lanes.queue.busyMachines;
  }

  /** Why the breaker is open, as text for `/health/ready`; undefined while it is closed or no command waits. */
  get pausedBecause(): string | undefined {
    return this.waiters.size > 0 ? this.status.breaker.openBecause : undefined;
  }

  /** Queues a command for a machine; `results` gets its result. `item` is its place in the message, from 0. */
  submitCommand(machineId: string, payload: P, results: MessageResults, item = 0): void {
    const { message } = results;
    if (message.revoked.aborted) {
      message.abandon();
      return;
    }
    message.revoked.addEventListener('abort', this.dropLost);
    const waiter = new CommandWaiter(machineId, results, realNowMs(), item);
    this.lanes.enqueueCommand(new Command(machineId, payload, [waiter]));
    this.requestSlotsAfter(this.options.lingerMs);
  }

  /** The same function for all messages: a signal drops a listener that is already registered. */
  private readonly dropLost = (): void => this.lanes.dropLost();

  /** Lets ready machines linger so that others can share their call, unless a batch is full already. */
  private requestSlotsAfter(lingerMs: number): void {
    const { queue } = this.lanes;
    if (queue.waitingEntries === 0) return;
    // Counts only machines that may be sent now: if machines in back-off counted, all others would go alone.
    const { maxMachines } = this.options.limits;
    const mayGo = lingerMs === 0 || queue.readyMachines(realNowMs()) >= maxMachines;
    if (mayGo) this.requestSlots();
    else this.timer.wakeAt(realNowMs() + lingerMs);
  }

  /** Asks for one slot at a time: machines that share a call need only one. Sets the timer for those not ready yet. */
  private requestSlots(callCount = 1): void {
    const { slots } = this.options;
    const { queue } = this.lanes;
    let callsLeft = callCount;
    while (!this.awaitsSlot && queue.readyMachines(realNowMs()) > 0 && this.status.admitsCall()) {
      if (slots.tryAcquire()) {
        this.beginBatch(callsLeft);
        callsLeft = Math.max(1, callsLeft - 1);
        continue;
      }
      this.awaitsSlot = true;
      slots.acquire(() => {
        this.awaitsSlot = false;
        // A slot that comes later serves all machines that are ready then; the flow may have been paused meanwhile.
        if (this.status.admitsCall()) this.beginBatch(1);
        else slots.releaseUnused();
        this.requestSlots();
      });
    }
    this.wakeForNext();
  }

  private wakeForNext(): void {
    const { queue } = this.lanes;
    // The release of the hold requests slots itself.
    if (queue.waitingEntries === 0 || this.status.isHeld) return;
    const nowMs = realNowMs();
    const dueMs = queue.nextDueMs(nowMs);
    const { isOpen, nextProbeMs } = this.status.breaker;
    // Ready machines have requested their slot already, except machines that became ready after the last check.
    if (!isOpen && !(dueMs <= nowMs && this.awaitsSlot)) this.timer.wakeAt(dueMs);
    // The end of a probe under way requests slots itself.
    if (nextProbeMs !== undefined) this.timer.wakeAt(Math.max(dueMs, nextProbeMs));
  }

  /** Begins the next batch in an acquired slot, or returns the slot. `callCount` calls share the ready machines. */
  private beginBatch(callCount: number): void {
    const isProbe = this.status.breaker.beginCall();
    // Only the machines that are being looked up wait for their look-up.
    const lookUps: Promise<void>[] = [];
    const admitted = this.takeBatch(callCount, isProbe).filter((command) => {
      const admission = this.checkAdmission(command);
      if (!(admission instanceof Promise)) return this.applyAdmission(command, admission, isProbe);
      lookUps.push(this.awaitLookUp(command, admission, isProbe));
      return false;
    });
    const isVoid = admitted.length === 0;
    if (isVoid) this.options.slots.releaseUnused();
    else void this.runCall(admitted, isProbe);
    if (!isVoid && lookUps.length === 0) return;
    void Promise.all(lookUps).then(() => {
      if (isVoid && isProbe) this.status.breaker.voidProbe();
      this.requestSlots();
    });
  }

  private takeBatch(callCount: number, isProbe: boolean): readonly Command<P>[] {
    const nowMs = realNowMs();
    const { queue } = this.lanes;
    const batch = isProbe ? queue.takeProbe(nowMs) : queue.takeBatch(nowMs, callCount);
    const isFull = batch.length >= this.options.limits.maxMachines;
    if (batch.length > 0) this.spread.recordCall(nowMs, isFull);
    return batch;
  }

  private checkAdmission(command: Command<P>): Admission | Promise<Admission> {
    if (command.isAdmitted) return GO;
    try {
      return this.options.admit(command);
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  private async awaitLookUp(
    command: Command<P>,
    asked: Promise<Admission>,
    isProbe: boolean,
  ): Promise<void> {
    try {
      const admission = await asked;
      if (!this.applyAdmission(command, admission, isProbe)) return;
      command.isAdmitted = true;
      this.lanes.returnToLane(command);
    } catch (error) {
      // The look-up was aborted with one message's partition; other messages may still wait for the command.
      if (command.waiters.some(({ isLost }) => isLost)) this.lanes.returnToLane(command);
      else this.failCommands([command], error);
    }
  }

  /** Whether the command may be sent. If not, its end, delay or back-off has been carried out. */
  private applyAdmission(command: Command<P>, admission: Admission, isProbe: boolean): boolean {
    switch (admission.kind) {
      case 'go':
        return true;
      case 'rejected':
      case 'superseded':
        this.lanes.endCommand(command, 'unknown', admission);
        return false;
      case 'not-yet':
        this.lanes.delayCommand(command, realNowMs() + Math.max(1, admission.waitMs));
        return false;
      case 'unavailable':
        this.delayLookUp(command, admission, isProbe);
        return false;
      default:
        return admission satisfies never;
    }
  }

  private delayLookUp(command: Command<P>, { why, afterMs }: Unavailable, isProbe: boolean): void {
    const { machineId } = command;
    command.failedLookUps += 1;
    this.status.noteFailure({
      machineId,
      busyMachines: this.lanes.queue.busyMachines,
      isShared: false,
      isProbe,
      cause: 'service',
      why,
      // A `Retry-After` to a look-up must not delay machines that need no look-up.
      retryAfterMs: 0,
    });
    const waitMs = Math.max(1, afterMs ?? 0, backOffMs(command.failedLookUps, RETRY_BACK_OFF));
    this.lanes.returnToLane(command, 'unknown', realNowMs() + waitMs);
  }

  /** Makes the call in an acquired slot and releases the slot. The parts of a split call acquire slots of their own. */
  private async runCall(commands: readonly Command<P>[], isProbe: boolean): Promise<void> {
    const wanted = commands.filter((command) => !command.isLost);
    let parts: readonly Command<P>[][] | undefined;
    try {
      for (const command of commands) if (command.isLost) this.lanes.returnToLane(command);
      if (wanted.length > 0) parts = await this.caller.makeCall(wanted, isProbe);
      // The parts of a split probe take its place: no other probe begins before they end.
      for (const part of parts ?? [])
        this.options.slots.acquire(() => void this.runCall(part, isProbe));
    } catch (error) {
      this.failCommands(wanted, error);
    } finally {
      if (parts === undefined && isProbe) this.status.breaker.voidProbe();
      this.options.slots.release();
      this.requestSlotsAfter(Math.min(this.options.lingerMs, REUNION_MS));
    }
  }

  /** After a bug of the bridge: the commands' messages are handled again, and dead-lettered if that does not help. */
  private failCommands(commands: readonly Command<P>[], error: unknown): void {
    this.logger.error({ msg: 'call not concluded', flow: this.name, err: error });
    for (const { machineId, waiters } of commands) {
      this.lanes.queue.releaseMachine(machineId, 'unknown');
      for (const waiter of waiters) this.waiters.failWaiter(waiter, error);
    }
  }

  /** Whether failed commands wait while no command is under way or ready. A ready command only waits for a slot. */
  private isStuck(): boolean {
    const { queue } = this.lanes;
    if (this.caller.underWay > 0 || queue.readyMachines(realNowMs()) > 0) return false;
    return queue.hasFirstEntry(({ attempts, failedLookUps }) => attempts + failedLookUps > 0);
  }
}

/** The most calls made where one would do, so that fewer machines share a call with a failing one. */
const SIDE_BY_SIDE = 4;
/** Machines per call below which no further call is made. */
const FEW = 8;
/** Milliseconds for which a call counts towards the rate of the flow. */
const RELEVANT_MS = 1000;
/** Calls within that time that make a steady flow; fewer may be for commands that arrived alone. */
const STEADY_CALLS = 10;

/** Decides how many calls share the ready machines when they do not fill one. */
class CallSpread {
  /** Start times of the latest calls, oldest first. */
  private readonly latestMs = Array<number>(STEADY_CALLS).fill(-Infinity);
  private latestFullMs = -Infinity;

  recordCall(nowMs: number, isFull: boolean): void {
    this.latestMs.shift();
    this.latestMs.push(nowMs);
    if (isFull) this.latestFullMs = nowMs;
  }

  /** One call where batches fill up, or where commands arrive alone and delay no others; in between, up to four. */
  callsFor(machines: number, nowMs: number): number {
    const isFast = nowMs - this.latestFullMs < RELEVANT_MS;
    const [oldestMs = -Infinity] = this.latestMs;
    const isSteady = nowMs - oldestMs < RELEVANT_MS;
    if (isFast || !isSteady) return 1;
    return Math.min(SIDE_BY_SIDE, Math.max(1, Math.ceil(machines / FEW)));
  }
}
