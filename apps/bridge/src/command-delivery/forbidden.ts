import { type Verdict } from '#libs/delivery';
import { type StartedCall } from './started-call.js';

const REJECTED: Verdict = {
  kind: 'rejected',
  status: 403,
  detail: 'the token may not do this for the machine, while it may for others',
};

/**
 * Tells a machine that the token may not touch from a token that may do nothing. A call for another
 * machine that begins after a 403 and goes well shows that this 403 was not the token's fault; one that
 * had begun before shows nothing, since the token may have lost its right in between. When the machine is
 * answered 403 once more after that, it is the machine. One for each command.
 */
export class Forbidden {
  /** The latest call to have begun when the first 403 came. */
  private sinceCall: number | undefined;

  /**
   * The verdict on a command for one machine alone that was answered 403.
   *
   * @param begun the number of the latest call of the flow to have begun by now
   */
  review(verdict: Verdict, call: StartedCall, begun: number): Verdict {
    this.sinceCall ??= begun;
    return call.latestApplied > this.sinceCall ? REJECTED : verdict;
  }
}
