import { type Verdict } from '#libs/delivery';
import { type FlowCalls, type StartedCall } from './flow-status.js';

type Rejected = Extract<Verdict, { kind: 'rejected' }>;

/** A command's refusal with a status that the interface does not list for the operation. */
export interface UnlistedRefusal {
  status: number;
  /** The latest call to have begun when the status was first answered to the command. */
  sinceCall: number;
}

/** What follows: the command is at fault, or that is open, and an empty call of the operation might tell. */
type Review = 'at-fault' | 'open' | 'ask';

/** Of both writing operations. */
const LISTED = [403, 422];
/**
 * So many commands may be given up because of empty calls before one is applied again. A service that refuses every
 * command and still answers an empty one as it should has more wrong with it than these messages.
 */
const MOST_BY_EMPTY_CALLS = 3;

export function isUnlisted(verdict: Verdict): verdict is Rejected {
  return verdict.kind === 'rejected' && !LISTED.includes(verdict.status);
}

/**
 * Tells a message that the service refuses from a way that does not lead to it. A wrong path, a gateway or a
 * maintenance page answers one and the same status to every call, and none of it is a message's fault. So such a
 * status counts against a command only when it is answered to it again after a call of the operation that had begun
 * since was taken, or refused in a way that the interface lists. Where no other command comes, an empty call does.
 * One of a flow.
 */
export class UnlistedRefusals {
  /** Numbers of the latest calls, and empty calls, to have been answered as the interface lists. */
  private latestAnswered = 0;
  private latestEmptyAnswered = 0;
  private givenUpByEmptyCalls = 0;

  /** The service has taken a call, or refused it in a way that the interface lists. */
  answered({ number }: StartedCall, isApplied: boolean): void {
    this.latestAnswered = Math.max(this.latestAnswered, number);
    if (isApplied) this.givenUpByEmptyCalls = 0;
  }

  /** The same of an empty call. */
  emptyAnswered({ number }: StartedCall): void {
    this.latestEmptyAnswered = Math.max(this.latestEmptyAnswered, number);
  }

  /** Looks into a command that was in a call by itself. */
  review(
    command: { unlisted: UnlistedRefusal | undefined },
    { status }: Rejected,
    { latestBegun }: Pick<FlowCalls, 'latestBegun'>,
  ): Review {
    const { unlisted } = command;
    if (unlisted?.status !== status) {
      command.unlisted = { status, sinceCall: latestBegun };
      return 'open';
    }
    if (this.latestAnswered > unlisted.sinceCall) return 'at-fault';
    if (this.givenUpByEmptyCalls >= MOST_BY_EMPTY_CALLS) return 'open';
    if (this.latestEmptyAnswered <= unlisted.sinceCall) return 'ask';
    this.givenUpByEmptyCalls += 1;
    return 'at-fault';
  }
}
