import { type Verdict } from '#libs/delivery';

/** The first may still overlap with calls that began before the token lost its rights. */
const TIMES = 3;

/**
 * Tells a machine that the token may not touch from a token that may do nothing: when a machine is
 * answered 403 again and again, and others got through between the last two, it is the machine. One for
 * each command.
 */
export class Forbidden {
  private times = 0;
  private progress = 0;

  /**
   * The verdict on a command for one machine alone, in the light of what became of others.
   *
   * @param flow `progress` counts the flow's calls that went well
   */
  review(verdict: Verdict, flow: { readonly progress: number }): Verdict {
    if (verdict.kind !== 'try-again' || verdict.cause !== 'forbidden') {
      this.times = 0;
      return verdict;
    }
    this.times += 1;
    const othersGotThrough = flow.progress > this.progress;
    this.progress = flow.progress;
    if (this.times < TIMES || !othersGotThrough) return verdict;
    const detail = 'the token may not do this for the machine, while it may for others';
    return { kind: 'rejected', status: 403, detail };
  }
}
