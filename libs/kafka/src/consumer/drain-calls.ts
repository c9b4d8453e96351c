import { Logger } from '@nestjs/common';
import { type CallSlots } from '#libs/delivery';
import { withDeadline } from '../client/deadline.js';
import { type AssignedPartitions } from './assigned-partitions.js';

/** How long a stop waits for calls in flight. */
const FINISH_DEADLINE_MS = 10_000;
const CUT_OFF_DEADLINE_MS = 500;
/** What is not committed by then waits for a topic that takes no records: the next owner does it again. */
const COMMIT_DEADLINE_MS = 1000;

/** Drains the calls that messages lead to, before partitions may be revoked and before a stop. */
export class CallDrain {
  private readonly logger = new Logger('Inbox');
  /** Identifies the drain under way; undefined once calls are resumed. */
  private draining: object | undefined;

  constructor(
    private readonly calls: CallSlots,
    private readonly partitions: Pick<
      AssignedPartitions,
      'holdAll' | 'releaseAll' | 'commitPending' | 'closeBuffers'
    >,
  ) {}

  /**
   * Lets no call begin and hands no message over. Resolves once no call is in flight and their results are committed. A
   * call that is still in flight at the deadline is cut off: otherwise the new owner would make it a second time
   * meanwhile.
   */
  async drainForRebalance(deadlineMs: number): Promise<void> {
    const drain = {};
    this.draining = drain;
    const { calls } = this;
    calls.hold();
    this.partitions.holdAll();
    const isIdle = await withDeadline(calls.idle(), deadlineMs);
    if (!isIdle && this.draining === drain) await this.cutOff();
    // In this turn the last answers finish their messages.
    await new Promise(setImmediate);
    await withDeadline(this.partitions.commitPending(), COMMIT_DEADLINE_MS);
  }

  /** Lets calls begin again: the assignment is known. */
  resumeCalls(): void {
    this.draining = undefined;
    this.partitions.releaseAll();
    this.calls.resume();
  }

  /** Lets calls in flight finish for a stop. */
  async drainForStop(): Promise<void> {
    this.partitions.holdAll();
    const drained = this.partitions.closeBuffers();
    // A stop in the middle of a rebalance: calls that wait for it are given up now.
    this.resumeCalls();
    // The message of a call that did not end in time stays uncommitted.
    if (!(await withDeadline(drained, FINISH_DEADLINE_MS))) await this.cutOff();
  }

  /** Aborts the calls in flight. Their results are unknown: the next owner calls again. */
  private async cutOff(): Promise<void> {
    const { calls } = this;
    this.logger.warn({ msg: 'calls cut off: partitions may be lost', calls: calls.underWay });
    calls.cutOff(new Error('the partition may go to another process'));
    await withDeadline(calls.idle(), CUT_OFF_DEADLINE_MS);
  }
}
