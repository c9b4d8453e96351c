import { realNowMs } from '#libs/clock';
import { backOffMs, RETRY_BACK_OFF } from '#libs/delivery';
import { type CommandLanes } from './command-lanes.js';
import { type Command } from './command.js';
import { type Admission, GO, type Unavailable } from './dispatcher-options.js';
import { type FlowStatus } from './flow-status.js';

/** Looks into commands that are about to be sent, and sees to those that may not be. */
export class CommandAdmission<P> {
  constructor(
    private readonly lanes: CommandLanes<P>,
    private readonly status: FlowStatus,
    private readonly ask: (command: Command<P>) => Admission | Promise<Admission>,
    private readonly giveBack: (command: Command<P>, error: unknown) => void,
  ) {}

  /** Those that may be sent now, and what is under way to tell of others: their machines alone wait for it. */
  sort(
    batch: readonly Command<P>[],
    isProbe: boolean,
  ): { admitted: Command<P>[]; lookUps: Promise<void>[] } {
    const lookUps: Promise<void>[] = [];
    const admitted = batch.filter((command) => {
      const admission = this.judge(command);
      if (!(admission instanceof Promise)) return this.admit(command, admission, isProbe);
      lookUps.push(this.lookUp(command, admission, isProbe));
      return false;
    });
    return { admitted, lookUps };
  }

  private judge(command: Command<P>): Admission | Promise<Admission> {
    if (command.isAdmitted) return GO;
    try {
      return this.ask(command);
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
      this.lanes.postpone(command, 'untold', 0);
    } catch (error) {
      // It was looked up on behalf of one message, whose partition is lost; others may wait for it as well.
      if (command.waiters.some(({ isLost }) => isLost)) this.lanes.postpone(command, 'untold', 0);
      else this.giveBack(command, error);
    }
  }

  /** Whether the command may be sent; where not, what follows has been done. */
  private admit(command: Command<P>, admission: Admission, isProbe: boolean): boolean {
    switch (admission.kind) {
      case 'go':
        return true;
      case 'rejected':
      case 'superseded':
        this.lanes.end(command, 'untold', admission);
        return false;
      case 'not-yet':
        this.lanes.hold(command, realNowMs() + Math.max(1, admission.waitMs));
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
      inCompany: false,
      isProbe,
      cause: 'service',
      why,
      // Asked of look-ups alone: it must not hold up a machine that needs none.
      retryAfterMs: 0,
    });
    const waitMs = Math.max(1, afterMs ?? 0, backOffMs(command.failedLookUps, RETRY_BACK_OFF));
    this.lanes.postpone(command, 'untold', realNowMs() + waitMs);
  }
}
