import { type LaneEntry } from '#libs/delivery';
import { type CommandResult, type MessageAnswers, type SetList } from './message-answers.js';
import { type Forbidden } from './forbidden.js';
import { type UnlistedRefusal } from './unlisted-refusals.js';

/** A message that waits to hear what became of a command. */
export class CommandWaiter {
  /** Calls made on its behalf. */
  calls = 0;
  /** It has been said that it waits for the service; that is said once. */
  isDeferred = false;

  constructor(
    readonly machineId: string,
    readonly answers: MessageAnswers,
    /** Real milliseconds at which it came. */
    readonly sinceMs: number,
    /** The place of the command in its message, from 0. */
    readonly item = 0,
  ) {}

  get isLost(): boolean {
    return this.answers.message.ownership.isLost;
  }
}

/** What is to be said to the service about one machine, and who waits for it. */
export class Command<P> implements LaneEntry {
  /** Calls it has been part of, for the back-off. */
  attempts = 0;
  /** Look-ups that have failed since its last call, for theirs. */
  failedLookUps = 0;
  /** It has been looked into and may be sent; true until the next call. */
  isAdmitted = false;
  forbidden: Forbidden | undefined;
  /** Its latest refusal, by itself, with a status that the interface does not list. */
  unlisted: UnlistedRefusal | undefined;

  constructor(
    readonly machineId: string,
    private readonly sizeOf: (payload: P) => number,
    readonly payload: P,
    public waiters: CommandWaiter[],
  ) {}

  /** Measured when a call is put together: many never come to that, and what is to be sent may change until then. */
  get bytes(): number {
    return this.sizeOf(this.payload);
  }

  /** Nobody waits for it any more: its partitions are lost. */
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

/** What became of the command for this waiter. Written out: spreading objects costs as much as all the rest. */
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
