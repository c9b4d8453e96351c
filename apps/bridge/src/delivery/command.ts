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
  /** State records to be written in one transaction with its outcome. */
  records?: readonly OutboundRecord[] | undefined;
}

/** The service's answer to a call; where that has set lists, those it has taken, in the order of the commands. */
export type CallAnswer = ServiceAnswer & { lists?: readonly SetList[] };

interface ResultBase {
  /** null when the message names none that is readable, or none at all. */
  machineId: string | null;
  /** The order it is about, where {@link OutcomeTarget.orderId} does not say it. */
  orderId?: string;
  attempts: number;
}

export type CommandResult =
  | (ResultBase & { kind: 'applied'; appliedAt: number } & SetList)
  | (ResultBase & { kind: 'superseded'; detail: string })
  | (ResultBase & { kind: 'rejected'; rejection: Rejection; httpStatus?: number });

export type RejectedResult = Extract<CommandResult, { kind: 'rejected' }>;

/** A refusal before any call; of the machine that the reason names, unless another one is given. */
export function rejection(
  reason: Rejection,
  machineId: string | null = reason.machineId ?? null,
): RejectedResult {
  return { kind: 'rejected', machineId, attempts: 0, rejection: reason };
}

/** The result of a message whose records Kafka refuses, however often they are sent. */
export function notTaken(
  { code }: Pick<RecordRefusedError, 'code'>,
  machineId: string | null = null,
): CommandResult {
  const tooLarge = 'what is to be remembered of it is larger than its topic takes';
  return code === 'unencodable' || code === 'ill-dated'
    ? notHandled(machineId)
    : rejection({ code: 'too-large', detail: tooLarge }, machineId);
}

/** The result of a message whose calls were answered, while a bug of ours does not let its outcome be published. */
export function notPublished(): RejectedResult {
  const detail =
    'the service has answered, but the outcome could not be published; the log says both';
  return rejection({ code: 'invalid-message', detail });
}

/** The result of a message that a bug of ours does not let be handled. */
export function notHandled(machineId: string | null = null): RejectedResult {
  const detail = 'the bridge could not handle this message; its log says why';
  return rejection({ code: 'invalid-message', detail }, machineId);
}

/** The message that outcomes are about, and what their records say of it. */
export interface OutcomeTarget {
  message: InboundRecord;
  /** The message that has the outcomes: another one where `message` is the bridge's own. */
  source: OutcomeSource;
  orderId?: string;
  /** The record that takes faults to the partition of that other one, whose owner dead-letters it. */
  refusal?: (faults: readonly RejectedResult[]) => OutboundRecord;
  /** The message names machines beside those at fault: a dead letter must say which these are. */
  namesOthers?: boolean | undefined;
  /** Where its outcomes belong in traces, when not to the span of the message. */
  trace?: TraceContext | undefined;
  /** Its outcome has been published already: none is now. */
  hasOutcome?: boolean;
  /** Added to the detail of its dead letter. */
  remark?: string;
  /** State records, written in one transaction with its outcome; those of a result are beside. */
  records?: readonly OutboundRecord[];
}

export interface InboundTarget extends OutcomeTarget {
  message: InboundMessage;
  /** Replaces the records that it ends with, where Kafka refuses them. */
  whenRefused?: WhenRefused;
}

const logger = new Logger('MessageAnswers');

export type RecordsOf = (
  target: OutcomeTarget,
  results: readonly CommandResult[],
) => readonly OutboundRecord[];

/**
 * Collects the results of the commands of one message, and ends it when all are final. Until then an applied or
 * superseded command is published by itself, so that it is not done again behind newer messages after a redelivery;
 * rejections wait, for they share a dead letter.
 */
export class MessageResults {
  /** Undefined until there is one: what is pushed onto an empty list takes room for seventeen. */
  private rejected: CommandResult[] | undefined;
  /** After a bug of ours; it fails the message once the other commands are final, or they would have two outcomes. */
  private failure: { error: unknown; isAnswered: boolean } | undefined;

  /** @param undecided commands without a result, beside what is `known` already */
  constructor(
    readonly target: InboundTarget,
    private undecided: number,
    private readonly known: readonly CommandResult[],
    private readonly recordsOf: RecordsOf,
  ) {
    if (undecided === 0) this.finish([]);
    this.failIfLast();
  }

  get message(): InboundMessage {
    return this.target.message;
  }

  /** @param item the place of the command in its message, see {@link InboundMessage.isItemDone} */
  addResult(result: CommandResult, item: number): void {
    this.undecided -= 1;
    if (this.undecided === 0 && this.failure === undefined) this.finish([result]);
    else if (result.kind === 'rejected') (this.rejected ??= []).push(result);
    else this.publish(result, item);
    this.failIfLast();
  }

  /** The message is handled again for this command, and for those that were rejected. */
  failCommand(error: unknown): void {
    this.undecided -= 1;
    this.failure ??= { error, isAnswered: false };
    this.failIfLast();
  }

  private failIfLast(): void {
    if (this.undecided > 0 || this.failure === undefined) return;
    this.message.fail(this.failure.error, this.failure.isAnswered);
  }

  private publish(result: CommandResult, item: number): void {
    try {
      this.message.publish(this.recordsOf(this.target, [result]), item);
    } catch (error) {
      this.notPublished(error, [result]);
    }
  }

  private finish(last: readonly CommandResult[]): void {
    const { known, rejected = [] } = this;
    const before = known.length + rejected.length;
    const results = before === 0 ? last : [...known, ...rejected, ...last];
    try {
      const { message, whenRefused } = this.target;
      message.finish(this.recordsOf(this.target, results), whenRefused);
    } catch (error) {
      this.notPublished(error, results);
    }
  }

  /** The message is not handled again: its calls, which were answered, would follow newer ones. */
  private notPublished(error: unknown, results: readonly CommandResult[]): void {
    const { message } = this;
    const { topic, partition, offset } = message;
    logger.error({ msg: 'outcome not published', topic, partition, offset, results, err: error });
    this.failure = { error, isAnswered: true };
  }
}

export class CommandWaiter {
  calls = 0;
  /** Its `deferred` outcome has been published, which happens once. */
  isDeferred = false;

  constructor(
    readonly machineId: string,
    readonly results: MessageResults,
    /** Real milliseconds of its arrival. */
    readonly sinceMs: number,
    /** The place of the command in its message, from 0. */
    readonly item = 0,
  ) {}

  get isLost(): boolean {
    return this.results.message.revoked.aborted;
  }
}

/** A call to make for one machine, and the messages that wait for its result. */
export class Command<P> {
  /** Calls it has been part of, for the back-off. */
  attempts = 0;
  /** Look-ups that have failed since its last call, for theirs. */
  failedLookUps = 0;
  /** A look-up has admitted it; true until the next call. */
  isAdmitted = false;
  /** Its latest refusal that others may be to blame for. */
  doubted: DoubtedRefusal | undefined;

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

/** A result without what differs from one waiter to the next. */
export type CommandEnd =
  | ({ kind: 'applied'; appliedAt: number } & SetList)
  | { kind: 'superseded'; detail: string }
  | Pick<Extract<CommandResult, { kind: 'rejected' }>, 'kind' | 'rejection' | 'httpStatus'>;

/** The result for this waiter. Written out: spreading objects costs as much as all the rest. */
export function resultFor({ machineId, calls }: CommandWaiter, end: CommandEnd): CommandResult {
  const attempts = calls;
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

/** The permit of a call, and the spans of the messages that it is made for. */
export type TracedPermit = CallPermit & Pick<Caller, 'causes' | 'hasTurn'>;

export type Admission =
  | { kind: 'go' }
  | { kind: 'rejected'; rejection: Rejection }
  | { kind: 'superseded'; detail: string }
  /** Its time has not come; `waitMs` is real time. */
  | { kind: 'not-yet'; waitMs: number }
  /** What judges it cannot be asked for now, which passes. `afterMs`, real time: as the service asks to wait, or null. */
  | { kind: 'unavailable'; why: string; afterMs: number | null };

export type Unavailable = Extract<Admission, { kind: 'unavailable' }>;

export const GO: Admission = { kind: 'go' };

/** Of two lists that wait, one replaces the other, both are one, or each is sent, if neither is surely newer. */
export type Precedence = 'newer' | 'older' | 'both' | 'apart';

/** @param isCalled a call for the machine is under way, which may make either of them outdated */
export type Precede<P> = (older: P, newer: P, isCalled: boolean) => Precedence;

export interface DispatcherOptions<P> {
  flow: string;
  clock: Clock;
  /** Shared with the other flows: the service bears so many calls at once, of whatever kind. */
  slots: CallSlots;
  limits: BatchLimits;
  /** Bytes of a payload in a request, asked when a batch is built: until then it may change; by default, 0. */
  sizeOf?: (payload: P) => number;
  /** Real milliseconds a command may wait for others to share its call. */
  lingerMs: number;
  deferredAfterMs: number;
  /** Asked before each call: what it is judged by changes while a command waits. */
  admit: (command: Command<P>) => Admission | Promise<Admission>;
  /**
   * Makes one call for all of them; takes note of what the service has taken before it resolves. Rejects with the
   * permit's objection, or the reason of its signal, and never once the service has answered: the call would be made
   * again.
   */
  call: (commands: readonly Command<P>[], permit: TracedPermit) => Promise<CallAnswer>;
  /** Calls the same operation without a machine, to see whether the way to it is right. Rejects as `call` does. */
  callEmpty: (permit: TracedPermit) => Promise<ServiceAnswer>;
  /**
   * In how many real milliseconds a command is tried again that the service has refused with this status, since it may
   * have come too early; undefined where the refusal stands. The call began `callMs` ago, in real time.
   */
  retryRefused?: (command: Command<P>, status: number, callMs: number) => number | undefined;
  /** Whether a newer command replaces an older one that waits; without it each is sent. */
  precedence?: Precede<P>;
  onDeferred: (waiter: Command<P>['waiters'][number]) => void;
  /** While it is held, no call begins. */
  hold: FlowHold;
}
