import { realNowMs } from '#libs/clock';
import {
  type Conduct,
  judgeAnswer,
  type RetryCause,
  type ServiceAnswer,
  type Verdict,
} from '#libs/delivery';
import { askService } from './ask-service.js';
import { CallPace } from './call-pace.js';
import { type CommandLanes } from './command-lanes.js';
import { type Command } from './command.js';
import { type DispatcherOptions } from './dispatcher-options.js';
import { type FlowStatus } from './flow-status.js';
import { reviewForbidden } from './review-forbidden.js';
import { type StartedCall } from './started-call.js';

type TryAgain = Extract<Verdict, { kind: 'try-again' }>;
type Rejected = Extract<Verdict, { kind: 'rejected' }>;

/** Makes the calls of {@link CommandDispatcher} and draws the consequences for lanes and waiters. */
export class CommandCalls<P> {
  readonly retries: Record<RetryCause, number> = { service: 0, 'token-refused': 0, forbidden: 0 };
  splits = 0;
  private readonly pace = new CallPace();

  constructor(
    private readonly lanes: CommandLanes<P>,
    private readonly status: FlowStatus,
    private readonly options: DispatcherOptions<P>,
    /** Sends what a call was split into, each part in a place of its own. */
    private readonly sendPart: (commands: readonly Command<P>[]) => void,
  ) {}

  async make(commands: readonly Command<P>[], isProbe: boolean): Promise<void> {
    for (const command of commands) {
      command.attempts += 1;
      command.failedLookUps = 0;
      command.isAdmitted = false;
      for (const waiter of command.waiters) waiter.calls += 1;
    }
    const call = this.status.callStarts();
    const answer = await this.ask(commands);
    if (answer === 'cut off') {
      this.repeat(commands, isProbe);
      return;
    }
    const verdict = this.judge(commands, answer, call);
    if (verdict.kind === 'try-again') this.failed(commands, verdict, call, isProbe);
    else this.conclude(commands, verdict, call);
  }

  private async ask(commands: readonly Command<P>[]): Promise<ServiceAnswer | 'cut off'> {
    try {
      return await askService(commands, this.options);
    } finally {
      this.status.callEnded();
    }
  }

  private judge(
    commands: readonly Command<P>[],
    answer: ServiceAnswer,
    call: StartedCall,
  ): Verdict {
    const attempt = commands.reduce((most, { attempts }) => Math.max(most, attempts), 1);
    const verdict = judgeAnswer(answer, attempt);
    if (!isForbidden(verdict)) return verdict;
    const [first] = commands;
    if (first !== undefined && commands.length === 1) this.status.forbidden(first.machineId);
    return reviewForbidden(commands, verdict, call, this.status);
  }

  private conclude(
    commands: readonly Command<P>[],
    verdict: Exclude<Verdict, TryAgain>,
    call: StartedCall,
  ): void {
    this.status.succeeded(call, verdict.kind === 'applied', commands);
    if (verdict.kind === 'rejected') this.rejected(commands, verdict);
    else this.applied(commands, this.pace.judge(durationMs(call), 'fine'));
  }

  private applied(commands: readonly Command<P>[], conduct: Conduct): void {
    const end = { kind: 'applied' as const, appliedAt: this.options.clock.nowSeconds() };
    for (const command of commands) {
      command.forbidden?.wentWell();
      this.lanes.queue.free(command.machineId, conduct);
      const remembered = this.options.onApplied?.(command);
      if (remembered === undefined) this.lanes.settle(command, end);
      else this.settleOnce(remembered, command, end);
    }
  }

  private settleOnce(
    remembered: Promise<void>,
    command: Command<P>,
    end: { kind: 'applied'; appliedAt: number },
  ): void {
    remembered.then(
      () => {
        this.lanes.settle(command, end);
      },
      () => {
        // It could not be remembered because the partition is lost: the new owner applies it again.
        this.lanes.abandon(command);
      },
    );
  }

  private rejected(commands: readonly Command<P>[], { status, detail }: Rejected): void {
    const [only] = commands;
    if (only !== undefined && commands.length === 1) {
      const rejection = { code: 'rejected-by-service' as const, detail };
      this.lanes.end(only, 'at-fault', { kind: 'rejected', rejection, httpStatus: status });
      return;
    }
    this.splits += 1;
    const middle = Math.ceil(commands.length / 2);
    this.sendPart(commands.slice(0, middle));
    this.sendPart(commands.slice(middle));
  }

  private failed(
    commands: readonly Command<P>[],
    verdict: TryAgain,
    call: StartedCall,
    isProbe: boolean,
  ): void {
    const { cause, why, waitMs, retryAfterMs } = verdict;
    const [first] = commands;
    if (first === undefined) return;
    this.retries[cause] += 1;
    const inCompany = commands.length > 1;
    const { machineId } = first;
    const { busyMachines } = this.lanes.queue;
    this.status.failed({ machineId, busyMachines, inCompany, isProbe, cause, why, retryAfterMs });
    // Whether it is the service or one machine cannot be told, so each failure leaves an eighth of the company or less, as
    // long as others get through; when it was the service, all is forgiven as soon as it answers again.
    const conduct =
      cause === 'token-refused' ? 'untold' : this.pace.judge(durationMs(call), 'suspect');
    const notBeforeMs = realNowMs() + waitMs;
    for (const command of commands) this.lanes.postpone(command, conduct, notBeforeMs);
  }

  /** The call was cut off or held back by us and says nothing; it is made again where its machines still belong here. */
  private repeat(commands: readonly Command<P>[], isProbe: boolean): void {
    if (isProbe) this.status.probeWasVoid();
    for (const command of commands) this.lanes.postpone(command, 'untold', 0);
  }
}

function isForbidden(verdict: Verdict): boolean {
  return verdict.kind === 'try-again' && verdict.cause === 'forbidden';
}

function durationMs({ startedMs }: StartedCall): number {
  return realNowMs() - startedMs;
}
