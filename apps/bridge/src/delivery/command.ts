import { Logger } from '@nestjs/common';
import type { Clock } from '#libs/clock';
import type { Caller } from '#libs/cloud-client';
import type { OutcomeSource, Rejection } from '#libs/contracts';
import type { CallPermit, CallSlots } from '#libs/delivery';
import type {
  InboundMessage,
  InboundRecord,
  OutboundRecord,
  RecordRefusedError,
  WhenRefused,
} from '#libs/kafka';
import type { TraceContext } from '#libs/tracing';
import type { FlowHold } from '../flow-control/index.js';
import type { BatchLimits } from './lane-queue.js';
import type { DoubtedRefusal, ServiceAnswer } from './verdict.js';

export interface SetList {
  workingOrders?: readonly string[] | undefined;
  /** State records, to be written in one transaction with the outcome. */
  records?: readonly OutboundRecord[] | undefined;
}

/** The service's answer to a call; `lists` are the lists it has taken, in the order of the commands. */
export type CallAnswer = ServiceAnswer & { lists?: readonly SetList[] };

/** How a command ends. */
export type CommandEnd =
  | ({ kind: 'applied'; appliedAt: number } & SetList)
  | { kind: 'superseded'; detail: string }
  | { kind: 'rejected'; rejection: Rejection; httpStatus?: number };

/** The end of a command of one message, or of what its message says before there is a command. */
export type CommandResult = CommandEnd & {
  /** Null if the message names no machine, or not readably. */
  machineId: string | null;
  /** The result's order, where it is not {@link OutcomeTarget.orderId}. */
  orderId?: string;
  attempts: number;
};

export type RejectedResult = Extract<CommandResult, { kind: 'rejected' }>;

/** A rejection before any call, for `machineId`, by default the machine that the reason names. */
export function rejection(
  reason: Rejection,
  machineId: string | null = reason.machineId ?? null,
): RejectedResult {
  return { kind: 'rejected', machineId, attempts: 0, rejection: reason };
}

/** The result of a message whose records Kafka refuses permanently. */
export function notStored(
  { code }: Pick<RecordRefusedError, 'code'>,
  machineId: string | null = null,
): CommandResult {
  const tooLarge = 'what is to be remembered of it is larger than its topic takes';
  return code === 'unencodable' || code === 'ill-dated'
    ? notHandled(machineId)
    : rejection({ code: 'too-large', detail: tooLarge }, machineId);
}

/** The result of a message whose calls were answered, but whose outcome a bug of the bridge kept unpublished. */
export function notPublished(): RejectedResult {
  const detail =
    'the service has answered, but the outcome could not be published; the log says both';
  return rejection({ code: 'invalid-message', detail });
}

/** The result of a message that could not be handled because of a bug of the bridge. */
export function notHandled(machineId: string | null = null): RejectedResult {
  const detail = 'the bridge could not handle this message; its log says why';
  return rejection({ code: 'invalid-message', detail }, machineId);
}

/** The message that outcomes are published for, and what their records say of it. */
export interface OutcomeTarget {
  readonly message: InboundRecord;
  /** The message that the outcomes name; where `message` is a queue record, the input message it came from. */
  readonly source: OutcomeSource;
  readonly orderId?: string;
  /** Makes the record that carries faults to the partition of `source`, whose owner writes the dead letter. */
  readonly refusal?: (faults: readonly RejectedResult[]) => OutboundRecord;
  /** The message names further machines, as any order may: its dead letter must say which machines were rejected. */
  readonly namesOthers?: boolean;
  /** Trace context of its outcomes, if not that of the message's span. */
  readonly trace?: TraceContext | undefined;
  /** An outcome has been published before; no other is. */
  readonly hasOutcome?: boolean;
  /** State records, written in one transaction with the outcome, in addition to those of the results. */
  readonly records?: readonly OutboundRecord[];
}

export interface InboundTarget extends OutcomeTarget {
  readonly message: InboundMessage;
  /** Returns the records to end with where Kafka refuses the original ones. */
  readonly whenRefused?: WhenRefused;
}

const logger = new Logger('MessageAnswers');

export type RecordsOf = (
  target: OutcomeTarget,
  results: readonly CommandResult[],
) => readonly OutboundRecord[];

/**
 * Collects the results of one message's commands and ends the message when all are final. An applied or superseded
 * result is published at once, so that after a redelivery its command is not repeated behind newer messages. Rejections
 * wait for the last result, because they share a dead letter.
 */
export class MessageResults {
  /** Undefined until there is one: V8 makes room for seventeen elements when it pushes onto an empty array. */
  private rejected: CommandResult[] | undefined;
  /** A bug of the bridge. Fails the message once its other commands are final, or they would get two outcomes. */
  private failure: { error: unknown; areCallsAnswered: boolean } | undefined;

  /** @param undecided number of results to come; without any, the message ends at once */
  constructor(
    readonly target: InboundTarget,
    private undecided: number,
    private readonly recordsOf: RecordsOf,
  ) {
    if (undecided === 0) this.finishMessage([]);
    this.failIfLast();
  }

  get message(): InboundMessage {
    return this.target.message;
  }

  /** @param item the command's place in its message, see {@link InboundMessage.isItemDone}; a rejection needs none */
  addResult(result: CommandResult, item?: number): void {
    this.undecided -= 1;
    if (this.undecided === 0 && this.failure === undefined) this.finishMessage([result]);
    else if (result.kind === 'rejected') (this.rejected ??= []).push(result);
    else this.publishResult(result, item);
    this.failIfLast();
  }

  /** The message is to be handled again, for this command and the rejected ones. */
  failCommand(error: unknown): void {
    this.undecided -= 1;
    this.failure ??= { error, areCallsAnswered: false };
    this.failIfLast();
  }

  private failIfLast(): void {
    if (this.undecided > 0 || this.failure === undefined) return;
    this.message.fail(this.failure.error, this.failure.areCallsAnswered);
  }

  private publishResult(result: CommandResult, item: number | undefined): void {
    try {
      this.message.publish(this.recordsOf(this.target, [result]), item);
    } catch (error) {
      this.recordUnpublished(error, [result]);
    }
  }

  private finishMessage(last: readonly CommandResult[]): void {
    const results = this.rejected === undefined ? last : [...this.rejected, ...last];
    try {
      const { message, whenRefused } = this.target;
      message.finish(this.recordsOf(this.target, results), whenRefused);
    } catch (error) {
      this.recordUnpublished(error, results);
    }
  }

  /** The message must not be handled again: its calls were answered, and would be repeated behind newer ones. */
  private recordUnpublished(error: unknown, results: readonly CommandResult[]): void {
    const { message } = this;
    const { topic, partition, offset } = message;
    logger.error({ msg: 'outcome not published', topic, partition, offset, results, err: error });
    this.failure = { error, areCallsAnswered: true };
  }
}

export class CommandWaiter {
  /** Calls that included its command. */
  callsMade = 0;
  /** Its `deferred` outcome has been published; that happens once. */
  isDeferred = false;

  constructor(
    readonly machineId: string,
    readonly results: MessageResults,
    /** Real milliseconds of arrival. */
    readonly sinceMs: number,
    /** The command's place in its message, from 0. */
    readonly item = 0,
  ) {}

  get isLost(): boolean {
    return this.results.message.revoked.aborted;
  }
}

/** A command for one machine, and the messages that wait for its result. */
export class Command<P> {
  /** Calls that included the command, for the back-off. */
  attempts = 0;
  /** Look-ups that have failed since the last call, for their back-off. */
  failedLookUps = 0;
  /** A look-up has admitted the command; true until its next call. */
  isAdmitted = false;
  /** The latest doubtful refusal. */
  doubtfulRefusal: DoubtedRefusal | undefined;

  constructor(
    readonly machineId: string,
    readonly payload: P,
    public waiters: CommandWaiter[],
  ) {}

  get isLost(): boolean {
    for (const waiter of this.waiters) if (!waiter.isLost) return false;
    return true;
  }
}

/** The result for one waiter. Written out field by field: object spread costs as much as the rest of the path. */
export function resultFor({ machineId, callsMade }: CommandWaiter, end: CommandEnd): CommandResult {
  const attempts = callsMade;
  switch (end.kind) {
    case 'applied': {
      const { appliedAt, workingOrders, records } = end;
      return { kind: 'applied', machineId, attempts, appliedAt, workingOrders, records };
    }
    case 'superseded':
      return { kind: 'superseded', machineId, attempts, detail: end.detail };
    case 'rejected':
      return { machineId, attempts, ...end };
    default:
      return end satisfies never;
  }
}

/** The permit of a call, with the spans of the messages it is made for. */
export type TracedPermit = CallPermit & Pick<Caller, 'causes' | 'hasTurn'>;

export type Admission =
  | { kind: 'go' }
  | Exclude<CommandEnd, { kind: 'applied' }>
  /** The command's own time has not come; `waitMs` is real time. */
  | { kind: 'not-yet'; waitMs: number }
  /** A look-up is impossible at present. `afterMs`, real time, is the service's `Retry-After`, or null. */
  | { kind: 'unavailable'; why: string; afterMs: number | null };

export const GO: Admission = { kind: 'go' };

/** Which of two waiting lists remains: the newer, the older, both joined, or both apart if neither is surely newer. */
export type Precedence = 'newer' | 'older' | 'both' | 'apart';

/** @param isCalled a call for the machine is under way and may make either list outdated */
export type DecidePrecedence<P> = (older: P, newer: P, isCalled: boolean) => Precedence;

export interface DispatcherOptions<P> {
  flow: string;
  clock: Clock;
  slots: CallSlots;
  limits: BatchLimits;
  /** Bytes of a payload in a request, by default 0; called when a batch is built, as a payload changes until then. */
  sizeOf?: (payload: P) => number;
  /** Real milliseconds that a command lingers for others to share its call. */
  lingerMs: number;
  deferredAfterMs: number;
  /** Called before each call: the admission may change while a command waits. */
  admit: (command: Command<P>) => Admission | Promise<Admission>;
  /**
   * Makes one call for all commands, and records what the service has taken before it resolves. Rejects with the
   * permit's objection or the reason of its signal, and never once the service has answered: the call would be
   * repeated.
   */
  call: (commands: readonly Command<P>[], permit: TracedPermit) => Promise<CallAnswer>;
  /** Calls the same operation without a machine, to test the route to it. Rejects as `call` does. */
  callEmpty: (permit: TracedPermit) => Promise<ServiceAnswer>;
  /**
   * Real milliseconds after which a refused command is sent again because it may have come too early; undefined if the
   * refusal stands. `callMs` is the call's duration in real time.
   */
  retryRefused?: (command: Command<P>, status: number, callMs: number) => number | undefined;
  /** Decides between a waiting command and a newer one; if absent, each is sent. */
  precedence?: DecidePrecedence<P>;
  onDeferred: (waiter: CommandWaiter) => void;
  hold: FlowHold;
}
