import {
  type BatchLimits,
  type CallPermit,
  type CallSlots,
  type LaneEntry,
  type ServiceAnswer,
} from '#libs/delivery';
import { type Clock } from '#libs/clock';
import { type Rejection } from '#libs/contracts';
import { type CommandResult, type MessageAnswers, type SetList } from './message-answers.js';
import { type ForbiddenAttribution, type UnlistedRefusal } from './refusal-attribution.js';

/** A message that waits for the result of a command. */
export class CommandWaiter {
  /** Calls made on its behalf. */
  calls = 0;
  /** Its `deferred` outcome has been published, which happens once. */
  isDeferred = false;

  constructor(
    readonly machineId: string,
    readonly answers: MessageAnswers,
    /** Real milliseconds of its arrival. */
    readonly sinceMs: number,
    /** The place of the command in its message, from 0. */
    readonly item = 0,
  ) {}

  get isLost(): boolean {
    return this.answers.message.ownership.isLost;
  }
}

/** A call to make for one machine, and the messages that wait for its result. */
export class Command<P> implements LaneEntry {
  /** Calls it has been part of, for the back-off. */
  attempts = 0;
  /** Look-ups that have failed since its last call, for theirs. */
  failedLookUps = 0;
  /** A look-up has admitted it; true until the next call. */
  isAdmitted = false;
  forbidden: ForbiddenAttribution | undefined;
  /** Its latest refusal, by itself, with a status that the interface does not list. */
  unlisted: UnlistedRefusal | undefined;

  constructor(
    readonly machineId: string,
    private readonly sizeOf: (payload: P) => number,
    readonly payload: P,
    public waiters: CommandWaiter[],
  ) {}

  /** Measured when a batch is built: many commands never get there, and the payload may change until then. */
  get bytes(): number {
    return this.sizeOf(this.payload);
  }

  /** The partitions of all its waiters are lost. */
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
      const { appliedAt, workingOrders, issuedAt } = end;
      return { kind: 'applied', machineId, attempts, appliedAt, workingOrders, issuedAt };
    }
    case 'superseded':
      return { kind: 'superseded', machineId, attempts, detail: end.detail };
    case 'rejected':
      return { machineId, attempts, ...end };
    default:
      return end satisfies never;
  }
}

/** Whether a command may be sent to the service as it is now. */
export type Admission =
  | { kind: 'go' }
  | { kind: 'rejected'; rejection: Rejection }
  | { kind: 'superseded'; detail: string }
  /** Its time has not come; `waitMs` is real time. */
  | { kind: 'not-yet'; waitMs: number }
  /**
   * What it is judged by cannot be asked for just now, which passes: `why` in the words of the look-up's answer, and for
   * how long the service asks to be left alone (`afterMs`, real time; null where it does not).
   */
  | { kind: 'unavailable'; why: string; afterMs: number | null };

export type Unavailable = Extract<Admission, { kind: 'unavailable' }>;

export const GO: Admission = { kind: 'go' };

/**
 * What becomes of two lists of one machine when both wait: the newer or the older one replaces the other, both are
 * one, or each is sent, for neither is sure to be the newer.
 */
export type Precedence = 'newer' | 'older' | 'both' | 'apart';

/** @param isCalled a call for the machine is under way, which may make either of them outdated */
export type Precede<P> = (older: P, newer: P, isCalled: boolean) => Precedence;

/** What distinguishes one flow of commands from another. */
export interface DispatcherOptions<P> {
  flow: string;
  clock: Clock;
  /** Shared with the other flows: the service bears so many calls at once, of whatever kind. */
  slots: CallSlots;
  limits: BatchLimits;
  /** Real milliseconds a command may wait for others to share its call. */
  lingerMs: number;
  deferredAfterMs: number;
  /** Asked before each call: what it is judged by changes while a command waits. */
  admit: (command: Command<P>) => Admission | Promise<Admission>;
  /** Rejects with the permit's objection, or the reason of its signal. */
  call: (commands: readonly Command<P>[], permit: CallPermit) => Promise<ServiceAnswer>;
  /**
   * Makes a call of the same operation that names no machine and changes nothing, to see whether the way to it is right.
   * Rejects as `call` does.
   */
  callEmpty: (permit: CallPermit) => Promise<ServiceAnswer>;
  /**
   * In how many real milliseconds a command is tried again that the service has refused with this status, since it may
   * have come too early; undefined where the refusal stands. The call began `callMs` ago, in real time.
   */
  retryRefused?: (command: Command<P>, status: number, callMs: number) => number | undefined;
  /** Takes note of a command that has been applied; returns what its result says of the list it has set. */
  onApplied?: (command: Command<P>) => SetList;
  /** Whether a newer command replaces an older one that waits; without it each is sent. */
  precedence?: Precede<P>;
  onDeferred: (waiter: Command<P>['waiters'][number]) => void;
}
