import { type Clock } from '#libs/clock';
import { type Rejection } from '#libs/contracts';
import {
  type BatchLimits,
  type CallPermit,
  type CallSlots,
  type ServiceAnswer,
} from '#libs/delivery';
import { type Command } from './command.js';
import { type SetList } from './message-answers.js';

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
 * What becomes of two lists of one machine when both wait: the younger or the older one stands for both, they are
 * one, or each is sent, for neither is sure to be the newer.
 */
export type Precedence = 'younger' | 'older' | 'both' | 'apart';

/** @param isCalled a call for the machine is under way, which may make either of them outdated */
export type Precede<P> = (older: P, younger: P, isCalled: boolean) => Precedence;

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
  /** Where a younger command makes an older one that waits superfluous; without it each is sent. */
  precedence?: Precede<P>;
  onDeferred: (waiter: Command<P>['waiters'][number]) => void;
}
