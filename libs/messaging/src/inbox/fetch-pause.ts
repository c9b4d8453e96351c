import { type PartitionProgress } from './partition-progress.js';
import { type QueueLimits } from './queue-limits.js';

/** At half of what pauses a partition it is resumed. */
const RESUME_AT = 0.5;

/** Whether nothing more of a partition is fetched, because so much of it is unfinished. */
export class FetchPause {
  private isOn = false;

  constructor(
    private readonly limits: QueueLimits,
    private readonly unfinished: Pick<PartitionProgress, 'size' | 'bytes' | 'span'>,
    private readonly onResume: () => void,
  ) {}

  get lasts(): boolean {
    return this.isOn;
  }

  /** Returns whether it lasts. */
  beginIfFull(): boolean {
    this.isOn ||= this.isFull(1);
    return this.isOn;
  }

  endIfShort(): void {
    if (!this.isOn || this.isFull(RESUME_AT)) return;
    this.isOn = false;
    this.onResume();
  }

  private isFull(share: number): boolean {
    const { limits, unfinished } = this;
    return (
      unfinished.size >= limits.maxUnfinished * share ||
      unfinished.bytes >= limits.maxUnfinishedBytes * share ||
      unfinished.span >= limits.maxSpan * share
    );
  }
}
