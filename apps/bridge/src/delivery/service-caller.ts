import { realNowMs } from '#libs/clock';
import type { Span } from '#libs/tracing';
import type { CallAnswer, Command, DispatcherOptions, SetList, TracedPermit } from './command.js';
import type { FlowStatus } from './flow-status.js';
import type { SlowCall } from './lane-queue.js';
import type { CommandLanes } from './command-lanes.js';
import {
  classifyAnswer,
  isDoubtful,
  Refusals,
  type Rejected,
  type RetryCause,
  type ServiceAnswer,
  type StartedCall,
  type Verdict,
  whileUndecided,
} from './verdict.js';

type Retry = Extract<Verdict, { kind: 'retry' }>;

const TOO_LARGE = 413;

/** Makes the calls of a flow, classifies their answers, and applies the verdicts to lanes and waiters. */
export class ServiceCaller<P> {
  readonly retries: Record<RetryCause | 'not-yet', number> = {
    ...{ service: 0, 'token-refused': 0, forbidden: 0, 'unlisted-status': 0, 'not-yet': 0 },
  };
  splits = 0;
  underWay = 0;
  private readonly pace = new CallPace();
  private readonly refusals = new Refusals();

  constructor(
    private readonly lanes: CommandLanes<P>,
    private readonly status: FlowStatus,
    private readonly options: DispatcherOptions<P>,
  ) {}

  /** Returns the parts of a split call, each to be sent in its own slot; undefined if the call had no answer. */
  async makeCall(
    commands: readonly Command<P>[],
    isProbe: boolean,
  ): Promise<readonly Command<P>[][] | undefined> {
    for (const command of commands) {
      command.failedLookUps = 0;
      command.isAdmitted = false;
    }
    countCall(commands, 1);
    const call = this.refusals.startCall();
    const answer = await this.sendCall(commands, this.options.call);
    if (answer === 'not made' || answer === 'cut off') {
      // The commands are sent again unless their partition was revoked.
      if (answer === 'not made') countCall(commands, -1);
      for (const command of commands) this.lanes.returnToLane(command);
      return undefined;
    }
    const verdict = await this.classify(commands, answer, call);
    if (verdict.kind !== 'retry') return this.applyVerdict(commands, verdict, call, answer.lists);
    this.backOffCommands(commands, verdict, call, isProbe);
    return [];
  }

  /** Makes one call for the commands. It has no answer if it was not begun, or cut off after it was sent. */
  private async sendCall(
    commands: readonly Command<P>[],
    call: DispatcherOptions<P>['call'],
  ): Promise<CallAnswer | 'not made' | 'cut off'> {
    const { signal, objection } = this.options.slots.permit;
    let objected: Error | undefined;
    let isSent = false as boolean;
    const permit: TracedPermit = {
      causes: causesOf(commands),
      // The turn came with the slot.
      hasTurn: true,
      signal,
      objection: () => {
        objected = objection();
        if (commands.every(({ isLost }) => isLost)) {
          objected ??= new Error('nobody waits for this any more');
        } else if (this.status.isHeld) objected ??= new Error('the flow is paused by hand');
        isSent ||= objected === undefined;
        return objected;
      },
    };
    this.underWay += 1;
    try {
      return await call(commands, permit);
    } catch (error) {
      if (signal.aborted || objected !== undefined) return isSent ? 'cut off' : 'not made';
      // The client returns failures as values; if it throws all the same, the machines must not stay under way.
      return { kind: 'retry', afterMs: null, error: new Error(String(error), { cause: error }) };
    } finally {
      this.underWay -= 1;
    }
  }

  private async classify(
    commands: readonly Command<P>[],
    answer: ServiceAnswer,
    call: StartedCall,
  ): Promise<Verdict> {
    const attempt = commands.reduce((most, { attempts }) => Math.max(most, attempts), 1);
    const verdict = classifyAnswer(answer, attempt);
    if (!isDoubtful(verdict)) return verdict;
    const [only] = commands;
    if (only !== undefined && commands.length === 1) {
      const review = this.refusals.reviewRefusal(only, verdict.status, call);
      if (review === 'at-fault') return verdict;
      if (review === 'call-empty') await this.callEmpty(commands);
    } else if (verdict.status === TOO_LARGE) {
      // A gateway's 413 splits the call as well as the service's.
      return verdict;
    }
    // The refusal of a shared call does not say which machine it is about: ever fewer share one, until each is alone.
    return whileUndecided(verdict, attempt);
  }

  /** Tests the route to the operation where no other command of the flow does. */
  private async callEmpty(commands: readonly Command<P>[]): Promise<void> {
    const call = this.refusals.startCall();
    const { callEmpty } = this.options;
    const answer = await this.sendCall(commands, (_, permit) =>
      callEmpty({ ...permit, hasTurn: false }),
    );
    if (answer === 'not made' || answer === 'cut off') return;
    const verdict = classifyAnswer(answer, 1);
    if (verdict.kind !== 'retry' && !isDoubtful(verdict)) this.refusals.recordEmptyAnswered(call);
  }

  private applyVerdict(
    commands: readonly Command<P>[],
    verdict: Exclude<Verdict, Retry>,
    call: StartedCall,
    lists: readonly SetList[] | undefined,
  ): Command<P>[][] {
    const taken = verdict.kind === 'applied' ? commands : [];
    const isDoubted = isDoubtful(verdict);
    // A 413 to a shared call does not show that calls get through; the calls of its parts do.
    const isTooLarge = isDoubted && commands.length > 1;
    if (!isTooLarge && this.status.noteSuccess(call.startedMs)) this.lanes.queue.liftBatchLimits();
    if (!isDoubted) this.refusals.recordAnswered(call, taken);
    if (verdict.kind === 'rejected') return this.splitOrReject(commands, verdict, call);
    const quality = this.pace.qualityOf(realNowMs() - call.startedMs, 'ok');
    const appliedAt = this.options.clock.nowSeconds();
    commands.forEach((command, index) => {
      const { workingOrders, records } = lists?.[index] ?? {};
      const end = { kind: 'applied', appliedAt, workingOrders, records } as const;
      this.lanes.endCommand(command, quality, end);
    });
    return [];
  }

  private splitOrReject(
    commands: readonly Command<P>[],
    { status, detail }: Rejected,
    call: StartedCall,
  ): Command<P>[][] {
    const [only, other] = commands;
    if (only === undefined || other !== undefined) {
      this.splits += 1;
      const middle = Math.ceil(commands.length / 2);
      return [commands.slice(0, middle), commands.slice(middle)];
    }
    const againMs = this.options.retryRefused?.(only, status, realNowMs() - call.startedMs);
    if (againMs === undefined) {
      const rejection = { code: 'rejected-by-service' as const, detail };
      this.lanes.endCommand(only, 'failed', { kind: 'rejected', rejection, httpStatus: status });
    } else {
      this.retries['not-yet'] += 1;
      this.lanes.delayCommand(only, realNowMs() + againMs);
    }
    return [];
  }

  private backOffCommands(
    commands: readonly Command<P>[],
    verdict: Retry,
    call: StartedCall,
    isProbe: boolean,
  ): void {
    const { cause, why, waitMs, retryAfterMs } = verdict;
    const [first] = commands;
    if (first === undefined) return;
    this.retries[cause] += 1;
    const isShared = commands.length > 1;
    const { machineId } = first;
    const { busyMachines } = this.lanes.queue;
    const failure = { machineId, busyMachines, isShared, isProbe, cause, why, retryAfterMs };
    this.status.noteFailure(failure);
    // The service or one machine may be at fault, even where the token is refused: a gateway may judge by machine. So
    // each failure cuts the batch limit of its machines to an eighth while others get through. If the service was at
    // fault, the limits are lifted as soon as it answers again.
    const quality = this.pace.qualityOf(realNowMs() - call.startedMs, 'suspect');
    const notBeforeMs = realNowMs() + waitMs;
    for (const command of commands) this.lanes.returnToLane(command, quality, notBeforeMs);
  }
}

/** Counts a call before it is made, so that one without a token backs off too; `-1` takes it back if it is not made. */
function countCall(
  commands: readonly Pick<Command<unknown>, 'attempts' | 'waiters'>[],
  change: 1 | -1,
): void {
  for (const command of commands) {
    command.attempts += change;
    for (const waiter of command.waiters) waiter.callsMade += change;
  }
}

/** One span for each message, which may name many machines of the call. */
function causesOf(commands: readonly Pick<Command<unknown>, 'waiters'>[]): readonly Span[] {
  const spans = new Set<Span>();
  for (const { waiters } of commands) {
    for (const { results } of waiters) spans.add(results.message.span);
  }
  return [...spans];
}

const SLOW_FACTOR = 4;
/** No call shorter than this counts as slow. */
const SLOW_FLOOR_MS = 250;
/** Weights of a usual and of a slow call in the typical duration: the service may become slow as a whole. */
const USUAL_WEIGHT = 0.1;
const SLOW_WEIGHT = 0.02;

/** Recognises calls that take much longer than usual: one machine may delay the others in its batch. */
export class CallPace {
  private typicalMs: number | undefined;

  /** @param byAnswer the quality by the call's answer; returned unless the call was slow */
  qualityOf<C extends 'ok' | 'suspect'>(durationMs: number, byAnswer: C): C | SlowCall {
    const typicalMs = this.typicalMs ?? durationMs;
    const isSlow = durationMs > Math.max(SLOW_FLOOR_MS, SLOW_FACTOR * typicalMs);
    const weight = isSlow ? SLOW_WEIGHT : USUAL_WEIGHT;
    // A call that fails quickly does not show how long the service takes when it works.
    const counts = isSlow || byAnswer === 'ok';
    if (counts) this.typicalMs = typicalMs + weight * (durationMs - typicalMs);
    return isSlow ? { slowness: durationMs / typicalMs } : byAnswer;
  }
}
