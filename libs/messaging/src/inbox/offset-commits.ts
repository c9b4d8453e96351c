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
      void this.begin();
    });
  }

  /** Waits for a commit under way, then commits the rest. */
  async commitNow(): Promise<void> {
    await this.underWay;
    await this.begin();
  }

  /** Waits for a commit under way, commits the rest; gives up when Kafka does not answer. */
  async finish(): Promise<void> {
    this.stopTimer();
    await withDeadline(this.underWay, LAST_COMMIT_DEADLINE_MS);
    await withDeadline(this.commitFinished(), LAST_COMMIT_DEADLINE_MS);
  }

  /** One at a time: a late older commit must not set back what a newer one has said. */
  private begin(): Promise<void> {
    this.underWay ??= this.commitFinished().finally(() => {
      this.underWay = undefined;
    });
    return this.underWay;
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
