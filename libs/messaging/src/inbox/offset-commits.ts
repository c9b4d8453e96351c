import { Logger } from '@nestjs/common';
import { type TopicPartitionOffset } from 'kafkajs';
import { everyRealMs } from '#libs/clock';
import { withDeadline } from '../deadline.js';
import { type PartitionQueues } from './partition-queues.js';

const INTERVAL_MS = 500;
const LAST_COMMIT_DEADLINE_MS = 1500;

/** Commits what the queues have finished, twice a second and once more at the end. */
export class OffsetCommits {
  private readonly logger = new Logger('OffsetCommits');
  private underWay: Promise<void> | undefined;
  private stopTimer: () => void = () => undefined;

  constructor(
    private readonly queues: PartitionQueues,
    private readonly commit: (offsets: TopicPartitionOffset[]) => Promise<void>,
  ) {}

  start(): void {
    this.stopTimer = everyRealMs(INTERVAL_MS, () => {
      // One at a time: a late older commit must not set back what a newer one has said.
      this.underWay ??= this.commitFinished().finally(() => {
        this.underWay = undefined;
      });
    });
  }

  /** Waits for a commit under way, commits the rest; gives up when Kafka does not answer. */
  async finish(): Promise<void> {
    this.stopTimer();
    await withDeadline(this.underWay, LAST_COMMIT_DEADLINE_MS);
    await withDeadline(this.commitFinished(), LAST_COMMIT_DEADLINE_MS);
  }

  private async commitFinished(): Promise<void> {
    const offsets = this.queues.takeCommittable();
    if (offsets.length === 0) return;
    try {
      await this.commit(offsets);
      this.queues.settle(offsets, true);
    } catch (error) {
      this.queues.settle(offsets, false);
      this.logger.warn({ msg: 'offsets not committed, will try again', error: String(error) });
    }
  }
}
