import { Logger } from '@nestjs/common';
import { type Clock, realDelayMs } from '#libs/clock';
import { type Rejection } from '#libs/contracts';
import { type ConcurrencyLimit, judgeAnswer, Lanes, type ServiceAnswer } from '#libs/delivery';
import { type CommandResult } from './command-result.js';
import { FlowStatus } from './flow-status.js';

/** A command for one machine, as a flow hands it over. */
export interface Command {
  machineId: string;
  /** Aborts when the message behind it is no longer this process's to answer. */
  signal: AbortSignal;
  /** What is known to be wrong with it, before each call: answers change while a call waits. */
  refuse: () => Promise<Rejection | undefined>;
  call: () => Promise<ServiceAnswer>;
}

/**
 * Brings commands of one operation to their end: per machine one at a time and in order, across
 * machines side by side, each until the service has taken or refused it.
 */
export class CommandFlow {
  readonly status: FlowStatus;
  private readonly logger = new Logger('CommandFlow');
  private readonly lanes = new Lanes();

  constructor(
    readonly name: string,
    private readonly limit: ConcurrencyLimit,
    private readonly clock: Clock,
  ) {
    this.status = new FlowStatus(name);
  }

  /** Machines with a command waiting or under way. */
  get busyMachines(): number {
    return this.lanes.size;
  }

  /**
   * Runs `work` in the machine's lane. Lanes are entered before this returns, so that messages
   * handled in the order of their offsets stay in that order.
   */
  inLane(machineId: string, work: () => Promise<CommandResult>): Promise<CommandResult> {
    return this.lanes.run(machineId, work);
  }

  /** @throws the reason of `command.signal` when it aborts before the command is final */
  async callUntilFinal(command: Command): Promise<CommandResult> {
    const { machineId, signal } = command;
    for (let attempt = 1; ; attempt += 1) {
      signal.throwIfAborted();
      const refusal = await command.refuse();
      if (refusal !== undefined) {
        return { kind: 'rejected', machineId, attempts: attempt - 1, rejection: refusal };
      }
      signal.throwIfAborted();
      const verdict = judgeAnswer(await this.limit.run(command.call), attempt);
      this.status.note(verdict);
      if (verdict.kind === 'applied') {
        return {
          kind: 'applied',
          machineId,
          attempts: attempt,
          appliedAt: this.clock.nowSeconds(),
        };
      }
      if (verdict.kind === 'rejected') {
        const { status: httpStatus, detail } = verdict;
        const reason: Rejection = { code: 'rejected-by-service', detail };
        return { kind: 'rejected', machineId, attempts: attempt, rejection: reason, httpStatus };
      }
      const { waitMs, why } = verdict;
      this.logger.debug({
        msg: 'will try again',
        flow: this.name,
        machineId,
        attempt,
        waitMs,
        why,
      });
      await realDelayMs(waitMs, signal);
    }
  }
}
