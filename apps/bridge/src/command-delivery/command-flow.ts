import { Logger } from '@nestjs/common';
import { type Clock, realDelayMs } from '#libs/clock';
import { type Rejection } from '#libs/contracts';
import {
  type ConcurrencyLimit,
  judgeAnswer,
  Lanes,
  type ServiceAnswer,
  type Verdict,
} from '#libs/delivery';
import { askUntilTold, type Refusal } from './ask-until-told.js';
import { type CommandResult } from './command-result.js';
import { FlowStatus } from './flow-status.js';
import { Forbidden } from './forbidden.js';

/** A command for one machine, as a flow hands it over. */
export interface Command {
  machineId: string;
  /** Aborts when the message behind it is no longer this process's to answer. */
  signal: AbortSignal;
  /** Asked before each call: answers change while a call waits. */
  refuse: () => Promise<Refusal>;
  call: () => Promise<ServiceAnswer>;
  /** Counts the calls made so far, for whoever tells of a command that still waits. */
  progress: { calls: number };
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
    const { machineId, signal, progress } = command;
    const forbidden = new Forbidden();
    for (let attempt = 1; ; attempt += 1) {
      const rejection = await askUntilTold(command.refuse, this.status, signal);
      if (rejection !== undefined) {
        return { kind: 'rejected', machineId, attempts: progress.calls, rejection };
      }
      const verdict = forbidden.review(judgeAnswer(await this.call(command), attempt), this.status);
      this.status.note(verdict);
      if (verdict.kind !== 'try-again') return this.toResult(command, verdict);
      const { waitMs, why } = verdict;
      const { name: flow } = this;
      this.logger.debug({ msg: 'will try again', flow, machineId, attempt, waitMs, why });
      await realDelayMs(waitMs, signal);
    }
  }

  private call({ signal, progress, call }: Command): Promise<ServiceAnswer> {
    return this.limit.run(() => {
      // Hundreds may have waited for their turn here while their partition went to another process.
      signal.throwIfAborted();
      progress.calls += 1;
      return call();
    });
  }

  private toResult(
    { machineId, progress: { calls: attempts } }: Command,
    verdict: Exclude<Verdict, { kind: 'try-again' }>,
  ): CommandResult {
    if (verdict.kind === 'applied') {
      return { kind: 'applied', machineId, attempts, appliedAt: this.clock.nowSeconds() };
    }
    const { status: httpStatus, detail } = verdict;
    const rejection: Rejection = { code: 'rejected-by-service', detail };
    return { kind: 'rejected', machineId, attempts, rejection, httpStatus };
  }
}
