import { Logger } from '@nestjs/common';
import { type TopicPartitionOffset } from 'kafkajs';
import { everyRealMs } from '#libs/clock';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import { withDeadline } from '../deadline.js';
import { writeNote } from './commit-note.js';
import { type PartitionQueues } from './partition-queues.js';

const INTERVAL_MS = 500;
const LAST_COMMIT_DEADLINE_MS = 1500;

/** Commits what the queues have finished, with a note for their next owner, twice a second and once more at the end. */
export class OffsetCommits {
  private readonly logger = new Logger('OffsetCommits');
  private underWay: Promise<void> | undefined;
  private stopTimer: () => void = () => undefined;
  /** Whether the last commits say that nothing is told. */
  private saysAtRest = false;

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

  /** Nothing is told for now: waits for a commit under way, then commits the rest and says so. */
  async commitAtRest(): Promise<void> {
    await this.underWay;
    await this.begin(true);
  }

  /** Messages are told of again, which the commits must say in case this process ends before the next one. */
  endRest(): void {
    void this.begin();
  }

  /** Waits for a commit under way, commits the rest; gives up when Kafka does not answer. */
  async finish(): Promise<void> {
    this.stopTimer();
    await withDeadline(this.underWay, LAST_COMMIT_DEADLINE_MS);
    await withDeadline(this.commitFinished(true), LAST_COMMIT_DEADLINE_MS);
  }

  /** One at a time: a late older commit must not set back what a newer one has said. */
  private begin(isAtRest = false): Promise<void> {
    this.underWay ??= this.commitFinished(isAtRest).finally(() => {
      this.underWay = undefined;
    });
    return this.underWay;
  }

  private async commitFinished(isAtRest: boolean): Promise<void> {
    // What was committed at rest is not so any more, or the other way round.
    const noteDiffers = isAtRest !== this.saysAtRest;
    const told = { untilMs: this.toldUntilMs(), isAtRest };
    const offsets = this.queues.takeCommittable(told, noteDiffers);
    if (offsets.length === 0) return;
    try {
      await this.commit(
        offsets.map(({ metadata, toldUntil, ...place }) => ({
          ...place,
          metadata: writeNote(metadata, toldUntil),
        })),
      );
      this.saysAtRest = isAtRest;
      this.queues.settle(offsets, true);
    } catch (error) {
      this.queues.settle(offsets, false);
      const why = describeKafkaFailure(error);
      this.logger.warn({ msg: 'offsets not committed, will try again', error: why });
    }
  }
}
