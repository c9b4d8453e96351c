import { Logger } from '@nestjs/common';
import { type CallSlots } from '#libs/delivery';
import { withDeadline } from '../client/deadline.js';
import { type AssignedPartitions } from './assigned-partitions.js';

/** How long a stop waits for calls in flight. */
const FINISH_DEADLINE_MS = 10_000;
const CUT_OFF_DEADLINE_MS = 500;
/** What is not committed then has something for a topic that takes nothing: its next owner does it again. */
const COMMIT_DEADLINE_MS = 1000;

/** Brings the calls that messages lead to to rest: while partitions may go to another process, and before a stop. */
export class CallDrain {
  private readonly logger = new Logger('Inbox');
  /** The rest that lasts, by its identity. */
  private draining: object | undefined;

  constructor(
    private readonly calls: CallSlots,
    private readonly partitions: Pick<
      AssignedPartitions,
      'holdAll' | 'releaseAll' | 'commitPending' | 'closeBuffers'
    >,
  ) {}

  /**
   * No call begins from now on, and no message is handed over. Resolves once no call is under way and what they have
   * led to is committed: a call that still is at the deadline is cut off, rather than made a second time by the
   * new owner meanwhile.
   */
  async drainForRebalance(deadlineMs: number): Promise<void> {
    const rest = {};
    this.draining = rest;
    const { calls } = this;
    calls.hold();
    this.partitions.holdAll();
    const isIdle = await withDeadline(calls.idle(), deadlineMs);
    if (!isIdle && this.draining === rest) await this.cutOff();
    // Those who wait for the last answer hear of it in this turn, and finish their messages.
    await new Promise(setImmediate);
    await withDeadline(this.partitions.commitPending(), COMMIT_DEADLINE_MS);
  }

  /** It is known again what belongs here: calls may begin. */
  resumeCalls(): void {
    this.draining = undefined;
    this.partitions.releaseAll();
    this.calls.resume();
  }

  /** For a stop: lets calls in flight finish, and commits what they have led to. */
  async drainForStop(): Promise<void> {
    this.partitions.holdAll();
    const drained = this.partitions.closeBuffers();
    // A stop in the middle of a rebalance: what waits to be called again is let go of now.
    this.resumeCalls();
    // An answer that could not be waited for: its message stays uncommitted.
    if (!(await withDeadline(drained, FINISH_DEADLINE_MS))) await this.cutOff();
  }

  /** Ends what is under way. What became of it is not known: whoever owns the partition next calls again. */
  private async cutOff(): Promise<void> {
    const { calls } = this;
    this.logger.warn({ msg: 'calls cut off: partitions may be lost', calls: calls.underWay });
    calls.cutOff(new Error('the partition may go to another process'));
    await withDeadline(calls.idle(), CUT_OFF_DEADLINE_MS);
  }
}
