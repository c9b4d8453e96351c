import { Logger } from '@nestjs/common';
import { type CallSlots } from '#libs/delivery';
import { withDeadline } from '../deadline.js';
import { type Outbox } from '../outbox/outbox.js';
import { type OffsetCommits } from './offset-commits.js';
import { type PartitionQueues } from './partition-queues.js';

/** How long a stop waits for calls in flight. */
const FINISH_DEADLINE_MS = 10_000;
const FIRST_COMMIT_DEADLINE_MS = 1500;
const CUT_OFF_DEADLINE_MS = 500;
const ANSWERS_DEADLINE_MS = 1000;
/** What is still being told then is told of a topic that takes nothing: the commit does without it. */
const QUIET_DEADLINE_MS = 500;

/**
 * Brings the calls that messages lead to to rest, and what is told of messages: while partitions may go to another
 * process, and before a stop.
 */
export class CallsAtRest {
  private readonly logger = new Logger('Inbox');
  /** The rest that lasts, by its identity. */
  private resting: object | undefined;

  constructor(
    private readonly calls: CallSlots,
    private readonly outbox: Pick<Outbox, 'idle'>,
    private readonly queues: PartitionQueues,
    private readonly commits: OffsetCommits,
  ) {}

  /**
   * No call begins from now on, and no message is handed over. Resolves once no call is under way and nothing
   * is told any more: a call that still is at the deadline is cut off, rather than made a second time by the
   * new owner meanwhile.
   */
  async begin(deadlineMs: number): Promise<void> {
    const rest = {};
    this.resting = rest;
    const { calls } = this;
    calls.hold();
    this.queues.holdBack();
    const isIdle = await withDeadline(calls.idle(), deadlineMs);
    if (!isIdle && this.resting === rest) await this.cutOff();
    await withDeadline(this.commitAnswered(rest), ANSWERS_DEADLINE_MS);
    if (this.resting === rest) void this.queues.stopTelling();
  }

  /** It is known again what belongs here: calls may begin, and once no commit says otherwise, answers are told. */
  end(): void {
    this.resting = undefined;
    this.queues.endRest();
    void this.commits.commitNow();
    this.calls.resume();
  }

  /** For a stop: lets calls in flight finish. What they led to is told, and is to be committed. */
  async finish(): Promise<void> {
    this.queues.holdBack();
    // Of a partition that has only just come here nothing could be told of the calls in flight without a commit.
    await withDeadline(this.commits.commitNow(), FIRST_COMMIT_DEADLINE_MS);
    const drained = this.queues.closeAll();
    // A stop in the middle of a rebalance: what waits to be called again is let go of now.
    this.end();
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

  /** Spares the next owner what has been done here. */
  private async commitAnswered(rest: object): Promise<void> {
    await this.outbox.idle();
    // Those who wait for the last acknowledgment hear of it in this turn, and finish their messages.
    await new Promise(setImmediate);
    // It may be over by now, as in a stop.
    if (this.resting !== rest) return;
    const quiet = this.queues.stopTelling();
    if (!(await withDeadline(quiet, QUIET_DEADLINE_MS))) await this.commits.commitNow();
    await quiet;
    await this.commits.commitNow();
  }
}
