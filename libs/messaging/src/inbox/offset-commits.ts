import { Logger } from '@nestjs/common';
import { everyRealMs } from '#libs/clock';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import { withDeadline } from '../deadline.js';
import { type TopicPartitionOffset } from '../kafkajs.js';
import { writeNote } from './commit-note.js';
import { type PartitionQueues } from './partition-queues.js';

const INTERVAL_MS = 500;
const LAST_COMMIT_DEADLINE_MS = 1500;

/** Commits what the queues have finished, with a note for their next owner, twice a second and once more at the end. */
export class OffsetCommits {
  private readonly logger = new Logger('OffsetCommits');
  private underWay: Promise<void> | undefined;
  private stopTimer: () => void = () => undefined;

  constructor(
    private readonly queues: PartitionQueues,
    private readonly commit: (offsets: TopicPartitionOffset[]) => Promise<void>,
    /** Epoch milliseconds up to which everything told has been acknowledged. */
    private readonly toldUntilMs: () => number,
  ) {}

  start(): void {
    this.stopTimer = everyRealMs(INTERVAL_MS, () => {
      void this.begin();
    });
  }

  /** Waits for a commit under way, which may not have it yet, then commits what has become new. */
  async commitNow(): Promise<void> {
    await this.underWay;
    await this.begin();
  }

  /** Nothing more is told. Waits for a commit under way, commits the rest; gives up when Kafka does not answer. */
  async finish(): Promise<void> {
    this.stopTimer();
    void this.queues.stopTelling();
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
    const commits = this.queues.takeCommittable(this.toldUntilMs());
    if (commits.length === 0) return;
    try {
      await this.commit(
        commits.map(({ topic, partition, offset, metadata, toldUntil }) => {
          return { topic, partition, offset, metadata: writeNote(metadata, toldUntil) };
        }),
      );
      for (const { settle } of commits) settle(true);
    } catch (error) {
      for (const { settle } of commits) settle(false);
      const why = describeKafkaFailure(error);
      this.logger.warn({ msg: 'offsets not committed, will try again', error: why });
    }
  }
}
