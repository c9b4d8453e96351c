import type { CommittedProgress } from '../producer/committed-offsets.js';
import type { LogEnds } from './log-ends.js';
import type { PartitionProgress } from './partition-progress.js';

/**
 * Whether fetches of a partition go on where they have to: with the first message that earlier owners have not
 * finished, and in the same log. Pure: no I/O, no callbacks.
 */
export class FetchContinuity {
  /** The offset at which delivery must begin; undefined until the progress of earlier owners is read. */
  begin: number | undefined;
  /** The first offset of the first fetch. */
  firstFetched: number | undefined;
  /** *sought*: the first fetch left messages out. */
  private delivery: 'awaited' | 'sought' | 'begun' = 'awaited';
  /** The latest offset committed by this process or an earlier owner. */
  private acknowledged = 0;
  /** Lower bound of the first offset in a fetch of the same log. */
  private floor = 0;

  constructor(
    private readonly progress: Pick<PartitionProgress, 'fetchedEnd'>,
    private readonly ends: Pick<LogEnds, 'highWatermark'>,
  ) {}

  /**
   * Whether to take a fetch from `first` on, to ignore it because it leaves out unfinished messages, or to seek back
   * as well, once. It may stem from an earlier assignment to this process. If the messages have been deleted, the log
   * itself begins later.
   *
   * @param isEmpty the fetch has no message, and its end must not count
   */
  judgeBegin(first: number, isEmpty: boolean): 'take' | 'ignore' | { seekTo: number } {
    this.firstFetched ??= first;
    const { begin, delivery } = this;
    if (begin === undefined || delivery === 'begun') return 'take';
    if (first <= begin || (delivery === 'sought' && !isEmpty)) {
      this.delivery = 'begun';
      return 'take';
    }
    this.delivery = 'sought';
    return delivery === 'sought' ? 'ignore' : { seekTo: begin };
  }

  /**
   * Whether a fetch whose first message is at `first` is of another log: a recreated or truncated topic holds other
   * messages under old offsets. A fetch of the same log may begin below the committed offset, because commits go on
   * while it is under way. With a committed offset, the high watermark proves nothing: a new leader's may lag for a
   * moment. So a log that an unclean election has truncated above the committed offset is not recognised.
   */
  isAnotherLog(first: number): boolean {
    const { fetchedEnd } = this.progress;
    if (this.floor > 0) return first < this.floor;
    return first < fetchedEnd && this.ends.highWatermark < fetchedEnd;
  }

  /** Records the first message of a fetch of the same log. */
  messagesFetched(first: number): void {
    if (first >= this.acknowledged) this.floor = this.acknowledged;
  }

  offsetCommitted(offset: number): void {
    this.acknowledged = offset;
  }

  progressRead({ begin, floor }: Pick<CommittedProgress, 'begin' | 'floor'>): void {
    this.begin = begin;
    this.acknowledged = Math.max(this.acknowledged, floor);
  }

  /** Notes a rebalance that has left the partition here: kafkajs fetches it from the latest committed offset. */
  assignedAgain(): void {
    this.floor = this.acknowledged;
  }
}
