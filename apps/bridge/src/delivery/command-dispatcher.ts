import { Logger } from '@nestjs/common';
import { afterRealMs, realNowMs } from '#libs/clock';
import { backOffMs } from '#libs/delivery';
import {
  type Admission,
  Command,
  CommandWaiter,
  type DispatcherOptions,
  GO,
  type MessageAnswers,
  type Unavailable,
} from './command.js';
import { FlowStatus } from './flow-status.js';
import { CommandLanes, type LaneEntry, type LaneQueue, OpenCommands } from './machine-lanes.js';
import { ServiceCaller } from './service-caller.js';
import { RETRY_BACK_OFF } from './verdict.js';

/**
 * Calls that began together end within a few milliseconds of each other. Their machines share a call again: a batch
 * that has once been split would stay split, and cost a call for each of its parts, time and again.
 */
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
  readonly open: OpenCommands;
  readonly calls: ServiceCaller<P>;
  private readonly logger = new Logger('CommandDispatcher');
  private readonly lanes: CommandLanes<P>;
  private readonly scheduler: BatchScheduler<Command<P>>;

  constructor(private readonly options: DispatcherOptions<P>) {
    this.name = options.flow;
    const { hold } = options;
    this.status = new FlowStatus(options.flow, undefined, hold, () => this.isStuck());
    this.open = new OpenCommands(options.deferredAfterMs, options.onDeferred);
    this.lanes = new CommandLanes(options.limits, this.open, options.precedence);
    this.calls = new ServiceCaller(this.lanes, this.status, options);
    this.scheduler = new BatchScheduler(this.lanes.queue, this.status, options, (calls) => {
      this.begin(calls);
    });
    hold?.onRelease(() => {
      this.scheduler.ask();
    });
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
    return this.open.size > 0 ? this.status.pausedBecause : undefined;
  }

  /**
   * Queues what is to be done at a machine; the answers to its message get one result.
   *
   * @param item its place in the message, from 0
   */
  submitCommand(machineId: string, payload: P, answers: MessageAnswers, item = 0): void {
    const { message } = answers;
    if (message.revoked.aborted) {
      message.abandon();
      return;
    }
    message.revoked.addEventListener('abort', this.dropLost);
    const waiter = new CommandWaiter(machineId, answers, realNowMs(), item);
    this.lanes.enqueueCommand(new Command(machineId, payload, [waiter], this.options.sizeOf));
    this.scheduler.lingerOrAsk(this.options.lingerMs);
  }

  /** One function for all messages: a signal knows its listeners by identity. */
  private readonly dropLost = (): void => {
    this.lanes.dropLost();
  };

  private begin(calls: number): void {
    const nowMs = realNowMs();
    const { queue } = this.lanes;
    let batch: readonly Command<P>[] = [];
    // The flow may have been paused while this waited for its slot.
    if (this.status.admits()) {
      batch = this.status.isPaused ? queue.takeProbe(nowMs) : queue.takeBatch(nowMs, calls);
    }
    if (batch.length === 0) {
      this.options.slots.releaseUnused();
      return;
    }
    this.scheduler.begun(nowMs, batch.length);
    const isProbe = this.status.beginsProbe();
    // The machines of these alone wait for them.
    const lookUps: Promise<void>[] = [];
    const admitted = batch.filter((command) => {
      const admission = this.judge(command);
      if (!(admission instanceof Promise)) return this.admit(command, admission, isProbe);
      lookUps.push(this.lookUp(command, admission, isProbe));
      return false;
    });
    if (admitted.length > 0) void this.run(admitted, isProbe);
    else this.options.slots.releaseUnused();
    if (admitted.length > 0 && lookUps.length === 0) return;
    void Promise.all(lookUps).then(() => {
      if (admitted.length === 0 && isProbe) this.status.probeWasVoid();
      this.scheduler.ask();
    });
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
      this.lanes.postpone(command, 'unknown', 0);
    } catch (error) {
      // It was looked up on behalf of one message, whose partition is lost; others may wait for it as well.
      if (command.waiters.some(({ isLost }) => isLost)) this.lanes.postpone(command, 'unknown', 0);
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
    try {
      for (const command of commands) if (command.isLost) this.lanes.drop(command);
      const parts = wanted.length > 0 ? await this.calls.makeCall(wanted, isProbe) : [];
      // The parts of a probe stand in its place: no other probe begins before.
      for (const part of parts) this.options.slots.ask(() => void this.run(part, isProbe));
      if (wanted.length === 0 && isProbe) this.status.probeWasVoid();
    } catch (error) {
      this.giveBack(wanted, error);
      if (isProbe) this.status.probeWasVoid();
    } finally {
      this.options.slots.release();
      this.scheduler.lingerOrAsk(Math.min(this.options.lingerMs, REUNION_MS));
    }
  }

  /** After a bug of ours: the messages of the commands are handled again, and dead-lettered when that does not help. */
  private giveBack(commands: readonly Command<P>[], error: unknown): void {
    this.logger.error({ msg: 'call not concluded', flow: this.name, err: error });
    for (const { machineId, waiters } of commands) {
      this.lanes.queue.releaseMachine(machineId, 'unknown');
      for (const waiter of waiters) this.open.fail(waiter, error);
    }
  }

  /** Whether commands wait that have failed before and none is ready: one that is ready waits for a slot alone. */
  private isStuck(): boolean {
    const { queue } = this.lanes;
    if (queue.readyMachines(realNowMs()) > 0) return false;
    return queue.someFirst(({ attempts, failedLookUps }) => attempts + failedLookUps > 0);
  }
}

/**
 * Decides when calls of a flow begin. Ready machines wait for the linger time, unless they fill a call; others until
 * they are due, and while the flow is paused, until it may probe. A flow asks for one slot at a time: machines that
 * share a call need only one.
 */
export class BatchScheduler<T extends LaneEntry> {
  private readonly spread = new CallSpread();
  private readonly timer = new WakeTimer(() => {
    // The linger time is over and no call is full: the machines may leave in several, see {@link CallSpread}.
    const nowMs = realNowMs();
    this.ask(this.spread.callsFor(this.queue.readyMachines(nowMs), nowMs));
  });
  private isAsking = false;
  /** A slot has been asked for, and is yet to come. */
  private isAsked = false;

  /**
   * @param begin a slot is there: whatever is ready shares the call, or gives the slot back. So many calls are to share
   * what is ready, as far as there are slots at once; this is the first of them
   */
  constructor(
    private readonly queue: LaneQueue<T>,
    private readonly status: FlowStatus,
    private readonly options: Pick<DispatcherOptions<never>, 'slots' | 'limits'>,
    private readonly begin: (calls: number) => void,
  ) {}

  /** Lets ready machines wait that long for others to share their call, unless one is full already. */
  lingerOrAsk(lingerMs: number): void {
    // Only those that may be sent now count: machines in back-off would make all others go alone.
    const { maxMachines } = this.options.limits;
    const mayGo = lingerMs === 0 || this.queue.readyMachines(realNowMs()) >= maxMachines;
    if (mayGo) this.ask();
    else this.timer.wakeAt(realNowMs() + lingerMs);
  }

  /** A call for so many machines begins. */
  begun(nowMs: number, machines: number): void {
    this.spread.begun(nowMs, machines >= this.options.limits.maxMachines);
  }

  /** Asks for a slot for what is ready, and for what is not yet when its time has come. */
  ask(calls = 1): void {
    // A slot that is free is given at once: the loop asks for the next, rather than each slot's taker.
    if (this.isAsking) return;
    this.isAsking = true;
    let callsLeft = calls;
    try {
      while (!this.isAsked && this.status.admits() && this.queue.readyMachines(realNowMs()) > 0) {
        this.isAsked = true;
        this.options.slots.ask(() => {
          this.isAsked = false;
          this.begin(callsLeft);
          callsLeft = Math.max(1, callsLeft - 1);
          this.ask();
        });
      }
    } finally {
      // A slot that comes later is for all machines that are ready by then.
      callsLeft = 1;
      this.isAsking = false;
    }
    this.wakeForNext();
  }

  private wakeForNext(): void {
    // Its release asks again.
    if (this.status.isHeld) return;
    const nowMs = realNowMs();
    const isReady = this.queue.readyMachines(nowMs) > 0;
    const dueMs = isReady ? nowMs : this.queue.nextDueMs;
    if (dueMs === undefined) return;
    const { isPaused, nextProbeMs } = this.status;
    // What is ready has its slot asked for, unless it has become so just now, since it was last looked for.
    if (!isPaused && !(isReady && this.isAsked)) this.timer.wakeAt(dueMs);
    // A probe under way wakes by its end.
    if (nextProbeMs !== undefined) this.timer.wakeAt(Math.max(dueMs, nextProbeMs));
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
export class CallSpread {
  /** When the latest calls began, oldest first. */
  private readonly latestMs = Array<number>(STEADY_CALLS).fill(-Infinity);
  private latestFullMs = -Infinity;

  begun(nowMs: number, isFull: boolean): void {
    this.latestMs.shift();
    this.latestMs.push(nowMs);
    if (isFull) this.latestFullMs = nowMs;
  }

  /**
   * One where commands come so fast that calls fill up, for calls are what keeps them waiting then; and one for
   * those that come on their own: a slow call holds up nothing else. In between, up to four.
   */
  callsFor(machines: number, nowMs: number): number {
    const isFast = nowMs - this.latestFullMs < RELEVANT_MS;
    const [oldestMs = -Infinity] = this.latestMs;
    const isSteady = nowMs - oldestMs < RELEVANT_MS;
    if (isFast || !isSteady) return 1;
    return Math.min(SIDE_BY_SIDE, Math.max(1, Math.ceil(machines / FEW)));
  }
}

/** Timers overflow far above this; who wakes too early looks at what is due and sleeps again. */
const LONGEST_SLEEP_MS = 60_000;

/** One timer for all that waits: the earliest time asked for counts. */
export class WakeTimer {
  private cancel: () => void = () => undefined;
  private atMs = Infinity;

  /** @param onWake looks at what is due, and asks for the next time */
  constructor(private readonly onWake: () => void) {}

  /** Asks to be woken at that real time, in milliseconds, or somewhat before. */
  wakeAt(atMs: number): void {
    if (atMs >= this.atMs) return;
    this.cancel();
    this.atMs = atMs;
    const sleepMs = Math.min(LONGEST_SLEEP_MS, Math.max(1, atMs - realNowMs()));
    this.cancel = afterRealMs(sleepMs, () => {
      this.atMs = Infinity;
      this.onWake();
    });
  }
}
