import { Logger } from '@nestjs/common';
import { realNowMs } from '#libs/clock';
import { CommandAdmission } from './admission.js';
import { ServiceCaller } from './service-caller.js';
import { CommandLanes, OpenCommands } from './command-lanes.js';
import { type Command } from './command.js';
import { BatchScheduler } from './batch-scheduler.js';
import { type DispatcherOptions } from './dispatcher-options.js';
import { FlowStatus } from './flow-status.js';

/**
 * Calls that began together end within a few milliseconds of each other. Their machines leave together again:
 * a company that has once fallen apart would stay apart, and cost a call for each of its parts, time and again.
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
  private readonly admission: CommandAdmission<P>;

  constructor(private readonly options: DispatcherOptions<P>) {
    this.name = options.flow;
    this.status = new FlowStatus(options.flow);
    this.open = new OpenCommands(options.deferredAfterMs, options.onDeferred);
    this.lanes = new CommandLanes(options.limits, this.open, options.precedence);
    this.calls = new ServiceCaller(this.lanes, this.status, options, (part) => {
      options.slots.ask(() => void this.run(part, false));
    });
    this.scheduler = new BatchScheduler(this.lanes.queue, this.status, options, (calls) => {
      this.begin(calls);
    });
    this.admission = new CommandAdmission(
      this.lanes,
      this.status,
      options.admit,
      (command, error) => {
        this.giveBack([command], error);
      },
    );
    this.status.reviewWhile(() => this.isStuck());
    this.status.whenResumed(() => {
      this.lanes.queue.forgive();
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

  /** Takes a command; those who wait for it hear what became of it, each once. */
  submit(command: Command<P>): void {
    for (const { answers } of command.waiters) {
      if (answers.message.ownership.isLost) answers.message.abandon();
      else answers.message.ownership.whenLost(this.dropLost);
    }
    if (command.isLost) return;
    this.lanes.submit(command);
    this.scheduler.gather(this.options.lingerMs);
  }

  /** One function for all partitions: they know their listeners by identity. */
  private readonly dropLost = (): void => {
    this.lanes.dropLost();
  };

  private begin(calls: number): void {
    const nowMs = realNowMs();
    // The flow may have been paused while this waited for its slot.
    const batch = this.status.admits() ? this.take(nowMs, calls) : [];
    if (batch.length === 0) {
      this.options.slots.release();
      return;
    }
    this.scheduler.begun(nowMs, batch.length);
    const isProbe = this.status.callBegins();
    const { admitted, lookUps } = this.admission.sort(batch, isProbe);
    if (admitted.length > 0) void this.run(admitted, isProbe);
    else this.options.slots.release();
    if (admitted.length > 0 && lookUps.length === 0) return;
    void Promise.all(lookUps).then(() => {
      if (admitted.length === 0 && isProbe) this.status.probeWasVoid();
      this.scheduler.ask();
    });
  }

  private take(nowMs: number, calls: number): Command<P>[] {
    const { queue } = this.lanes;
    return this.status.isPaused ? queue.takeProbe(nowMs) : queue.take(nowMs, calls);
  }

  /** Makes the call in the slot that has been given, and gives that back. */
  private async run(commands: readonly Command<P>[], isProbe: boolean): Promise<void> {
    const wanted = commands.filter((command) => !command.isLost);
    try {
      for (const command of commands) if (command.isLost) this.lanes.drop(command);
      if (wanted.length > 0) await this.calls.make(wanted, isProbe);
      else if (isProbe) this.status.probeWasVoid();
    } catch (error) {
      this.giveBack(wanted, error);
      if (isProbe) this.status.probeWasVoid();
    } finally {
      this.options.slots.release();
      this.scheduler.gather(Math.min(this.options.lingerMs, REUNION_MS));
    }
  }

  /** A bug of ours: the messages behind it are handled anew, and set aside when that does not help. */
  private giveBack(commands: readonly Command<P>[], error: unknown): void {
    this.logger.error({ msg: 'call not concluded', flow: this.name, err: error });
    for (const { machineId, waiters } of commands) {
      this.lanes.queue.free(machineId, 'untold');
      for (const waiter of waiters) this.open.fail(waiter, error);
    }
  }

  /** What waits has failed before, and waits for its time; what is ready waits for a slot alone. */
  private isStuck(): boolean {
    const { queue } = this.lanes;
    if (queue.readyMachines(realNowMs()) > 0) return false;
    return queue.someFirst(({ attempts, failedLookUps }) => attempts + failedLookUps > 0);
  }
}
