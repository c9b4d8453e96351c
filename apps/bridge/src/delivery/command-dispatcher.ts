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
  type Unavailable,
} from './command.js';
import { FlowStatus } from './flow-status.js';
import { CommandLanes, CommandWaiters } from './command-lanes.js';
import { ServiceCaller } from './service-caller.js';
import { RETRY_BACK_OFF } from './verdict.js';

/** Calls that began together end within a few milliseconds: without the wait, a batch once split would stay split. */
const REUNION_MS = 5;

/**
 * Brings the commands of one flow to the service: of each machine one at a time and in order, of
 * different machines side by side or many in a call, each until the service has taken or refused it.
 * While nothing gets through it pauses, tries one call now and then, and goes on by itself. Owns the
 * flow's lanes; whatever happens to a message ends in its `finish`, `abandon` or `fail`.
 */
export class CommandDispatcher<P> {
  readonly name: string;
  readonly status: FlowStatus;
  readonly waiters: CommandWaiters;
  readonly calls: ServiceCaller<P>;
  private readonly logger = new Logger('CommandDispatcher');
  private readonly lanes: CommandLanes<P>;
  private readonly spread = new CallSpread();
  private readonly timer = new WakeTimer(() => {
    // The linger time is over and no call is full: the machines may leave in several, see {@link CallSpread}.
    const nowMs = realNowMs();
    this.requestSlots(this.spread.callsFor(this.lanes.queue.readyMachines(nowMs), nowMs));
  });
  private awaitsSlot = false;

  constructor(private readonly options: DispatcherOptions<P>) {
    this.name = options.flow;
    this.status = new FlowStatus(options.flow, options.hold, () => this.isStuck());
    this.waiters = new CommandWaiters(options.deferredAfterMs, options.onDeferred);
    this.lanes = new CommandLanes(options, this.waiters);
    this.calls = new ServiceCaller(this.lanes, this.status, options);
    options.hold.onRelease(() => this.requestSlots());
  }

  /** Commands that wait for a call; those under way are not among them. */
  get waiting(): number {
    return this.lanes.queue.waiting;
  }

  /** Machines with a command waiting or under way. */
  get busyMachines(): number {
    return this.lanes.queue.busyMachines;
  }

  /** Why the flow is paused, in words; undefined while it moves, or has nothing to do. */
  get pausedBecause(): string | undefined {
    return this.waiters.size > 0 ? this.status.breaker.openBecause : undefined;
  }

  /** Queues what is to be done at a machine; its message's results get one. `item` is its place there, from 0. */
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

  /** One function for all messages: a signal knows its listeners by identity. */
  private readonly dropLost = (): void => this.lanes.dropLost();

  /** Lets ready machines wait that long for others to share their call, unless one is full already. */
  private requestSlotsAfter(lingerMs: number): void {
    const { queue } = this.lanes;
    if (queue.waiting === 0) return;
    // Only those that may be sent now count: machines in back-off would make all others go alone.
    const { maxMachines } = this.options.limits;
    const mayGo = lingerMs === 0 || queue.readyMachines(realNowMs()) >= maxMachines;
    if (mayGo) this.requestSlots();
    else this.timer.wakeAt(realNowMs() + lingerMs);
  }

  /** Asks for one slot at a time, since machines that share a call need only one; later for what is not ready yet. */
  private requestSlots(calls = 1): void {
    const { slots } = this.options;
    const { queue } = this.lanes;
    let callsLeft = calls;
    while (!this.awaitsSlot && queue.readyMachines(realNowMs()) > 0 && this.status.admits()) {
      if (slots.tryAcquire()) {
        this.begin(callsLeft);
        callsLeft = Math.max(1, callsLeft - 1);
        continue;
      }
      this.awaitsSlot = true;
      slots.acquire(() => {
        this.awaitsSlot = false;
        // A slot that comes later is for all machines that are ready by then; the flow may have been paused meanwhile.
        if (this.status.admits()) this.begin(1);
        else slots.releaseUnused();
        this.requestSlots();
      });
    }
    this.wakeForNext();
  }

  private wakeForNext(): void {
    const { queue } = this.lanes;
    // The release of a hold asks again.
    if (queue.waiting === 0 || this.status.isHeld) return;
    const nowMs = realNowMs();
    const dueMs = queue.nextDueMs(nowMs);
    const { isOpen, nextProbeMs } = this.status.breaker;
    // What is ready has its slot asked for, unless it has become so just now, since it was last looked for.
    if (!isOpen && !(dueMs <= nowMs && this.awaitsSlot)) this.timer.wakeAt(dueMs);
    // A probe under way wakes by its end.
    if (nextProbeMs !== undefined) this.timer.wakeAt(Math.max(dueMs, nextProbeMs));
  }

  /** Begins the next batch in the slot that is there, or gives that back. So many `calls` share what is ready. */
  private begin(calls: number): void {
    const isProbe = this.status.breaker.callBegins();
    // The machines of these alone wait for them.
    const lookUps: Promise<void>[] = [];
    const admitted = this.takeBatch(calls, isProbe).filter((command) => {
      const admission = this.judge(command);
      if (!(admission instanceof Promise)) return this.admit(command, admission, isProbe);
      lookUps.push(this.lookUp(command, admission, isProbe));
      return false;
    });
    const isVoid = admitted.length === 0;
    if (isVoid) this.options.slots.releaseUnused();
    else void this.run(admitted, isProbe);
    if (!isVoid && lookUps.length === 0) return;
    void Promise.all(lookUps).then(() => {
      if (isVoid && isProbe) this.status.breaker.probeWasVoid();
      this.requestSlots();
    });
  }

  private takeBatch(calls: number, isProbe: boolean): readonly Command<P>[] {
    const nowMs = realNowMs();
    const { queue } = this.lanes;
    const batch = isProbe ? queue.takeProbe(nowMs) : queue.takeBatch(nowMs, calls);
    const isFull = batch.length >= this.options.limits.maxMachines;
    if (batch.length > 0) this.spread.begun(nowMs, isFull);
    return batch;
  }

  private judge(command: Command<P>): Admission | Promise<Admission> {
    if (command.isAdmitted) return GO;
    try {
      return this.options.admit(command);
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  private async lookUp(
    command: Command<P>,
    asked: Promise<Admission>,
    isProbe: boolean,
  ): Promise<void> {
    try {
      const admission = await asked;
      if (!this.admit(command, admission, isProbe)) return;
      command.isAdmitted = true;
      this.lanes.postpone(command);
    } catch (error) {
      // It was looked up on behalf of one message, whose partition is lost; others may wait for it as well.
      if (command.waiters.some(({ isLost }) => isLost)) this.lanes.postpone(command);
      else this.giveBack([command], error);
    }
  }

  /** Whether the command may be sent; where not, what follows has been done. */
  private admit(command: Command<P>, admission: Admission, isProbe: boolean): boolean {
    switch (admission.kind) {
      case 'go':
        return true;
      case 'rejected':
      case 'superseded':
        this.lanes.endCommand(command, 'unknown', admission);
        return false;
      case 'not-yet':
        this.lanes.delay(command, realNowMs() + Math.max(1, admission.waitMs));
        return false;
      case 'unavailable':
        this.backOff(command, admission, isProbe);
        return false;
      default:
        return admission satisfies never;
    }
  }

  private backOff(command: Command<P>, { why, afterMs }: Unavailable, isProbe: boolean): void {
    const { machineId } = command;
    command.failedLookUps += 1;
    this.status.failed({
      machineId,
      busyMachines: this.lanes.queue.busyMachines,
      isShared: false,
      isProbe,
      cause: 'service',
      why,
      // Asked of look-ups alone: it must not hold up a machine that needs none.
      retryAfterMs: 0,
    });
    const waitMs = Math.max(1, afterMs ?? 0, backOffMs(command.failedLookUps, RETRY_BACK_OFF));
    this.lanes.postpone(command, 'unknown', realNowMs() + waitMs);
  }

  /** Makes the call in the slot that was given, and gives that back; what it is split into has slots of its own. */
  private async run(commands: readonly Command<P>[], isProbe: boolean): Promise<void> {
    const wanted = commands.filter((command) => !command.isLost);
    let parts: readonly Command<P>[][] | undefined;
    try {
      for (const command of commands) if (command.isLost) this.lanes.postpone(command);
      if (wanted.length > 0) parts = await this.calls.makeCall(wanted, isProbe);
      // The parts of a probe stand in its place: no other probe begins before.
      for (const part of parts ?? [])
        this.options.slots.acquire(() => void this.run(part, isProbe));
    } catch (error) {
      this.giveBack(wanted, error);
    } finally {
      if (parts === undefined && isProbe) this.status.breaker.probeWasVoid();
      this.options.slots.release();
      this.requestSlotsAfter(Math.min(this.options.lingerMs, REUNION_MS));
    }
  }

  /** After a bug of ours: the messages of the commands are handled again, and dead-lettered when that does not help. */
  private giveBack(commands: readonly Command<P>[], error: unknown): void {
    this.logger.error({ msg: 'call not concluded', flow: this.name, err: error });
    for (const { machineId, waiters } of commands) {
      this.lanes.queue.releaseMachine(machineId, 'unknown');
      for (const waiter of waiters) this.waiters.failWaiter(waiter, error);
    }
  }

  /** Whether commands wait that have failed, and none is under way or ready: one that is ready waits for a slot alone. */
  private isStuck(): boolean {
    const { queue } = this.lanes;
    if (this.calls.underWay > 0 || queue.readyMachines(realNowMs()) > 0) return false;
    return queue.someFirst(({ attempts, failedLookUps }) => attempts + failedLookUps > 0);
  }
}

/** How many calls are made where one would do, so that fewer share the fate of a bad machine. */
const SIDE_BY_SIDE = 4;
/** So few machines are not worth a further call. */
const FEW = 8;
/** How long a call counts in the rate of the flow. */
const RELEVANT_MS = 1000;
/** So many calls within that time make a flow that keeps coming; fewer may be of some that came on their own. */
const STEADY_CALLS = 10;

/** Decides over how many calls ready machines are spread that do not fill one. */
class CallSpread {
  /** When the latest calls began, oldest first. */
  private readonly latestMs = Array<number>(STEADY_CALLS).fill(-Infinity);
  private latestFullMs = -Infinity;

  begun(nowMs: number, isFull: boolean): void {
    this.latestMs.shift();
    this.latestMs.push(nowMs);
    if (isFull) this.latestFullMs = nowMs;
  }

  /** One where calls fill up, or where commands come on their own and hold up nothing; in between, up to four. */
  callsFor(machines: number, nowMs: number): number {
    const isFast = nowMs - this.latestFullMs < RELEVANT_MS;
    const [oldestMs = -Infinity] = this.latestMs;
    const isSteady = nowMs - oldestMs < RELEVANT_MS;
    if (isFast || !isSteady) return 1;
    return Math.min(SIDE_BY_SIDE, Math.max(1, Math.ceil(machines / FEW)));
  }
}
