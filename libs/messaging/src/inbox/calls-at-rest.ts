import { Logger } from '@nestjs/common';
import { type CallSlots } from '#libs/delivery';
import { withDeadline } from '../deadline.js';
import { type Outbox } from '../outbox/outbox.js';
import { type OffsetCommits } from './offset-commits.js';

const CUT_OFF_DEADLINE_MS = 500;
const ANSWERS_DEADLINE_MS = 1000;

/** Brings the calls that messages lead to to rest while partitions may go to another process. */
export class CallsAtRest {
  private readonly logger = new Logger('Inbox');

  constructor(
    private readonly calls: CallSlots,
    private readonly outbox: Pick<Outbox, 'idle'>,
    private readonly commits: OffsetCommits,
  ) {}

  /**
   * No call begins from now on. Resolves once none is under way: what still is at the deadline is cut
   * off, rather than made a second time by the new owner meanwhile.
   */
  async begin(deadlineMs: number): Promise<void> {
    const { calls } = this;
    calls.hold();
    if (!(await withDeadline(calls.idle(), deadlineMs))) await this.cutOff();
    await withDeadline(this.commitAnswered(), ANSWERS_DEADLINE_MS);
  }

  /** Ends what is under way. What became of it is not known: whoever owns the partition next calls again. */
  async cutOff(): Promise<void> {
    const { calls } = this;
    this.logger.warn({ msg: 'calls cut off: partitions may be lost', calls: calls.underWay });
    calls.cutOff(new Error('the partition may go to another process'));
    await withDeadline(calls.idle(), CUT_OFF_DEADLINE_MS);
  }

  /** It is known again what belongs here: calls may begin. */
  end(): void {
    this.commits.endRest();
    this.calls.resume();
  }

  /** Spares the next owner what has been done here. */
  private async commitAnswered(): Promise<void> {
    await this.outbox.idle();
    // Those who wait for the last acknowledgment hear of it in this turn, and finish their messages.
    await new Promise(setImmediate);
    await this.commits.commitAtRest();
  }
}
