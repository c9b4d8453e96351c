import { Logger } from '@nestjs/common';
import { abortable } from '#libs/clock';
import { type Consumer, type TopicPartitionOffset } from '../kafkajs.js';
import { CommitOfAssignment } from './commit-of-assignment.js';

/** The consumer while it is a member of the group: before and after, kafkajs refuses to pause, seek or commit. */
export class GroupMember {
  private readonly logger = new Logger('Consumer');
  private readonly commits = new CommitOfAssignment();
  private consumer: Consumer | undefined;
  /** Aborts when the consumer has ended: nothing waits for what kafkajs may go on trying for long. */
  private membership = new AbortController();

  is(consumer: Consumer): boolean {
    return this.consumer === consumer;
  }

  /** Partitions have been assigned to the consumer, at first or anew. */
  join(consumer: Consumer): void {
    if (!this.is(consumer)) {
      this.consumer = consumer;
      this.membership = new AbortController();
      consumer.on(consumer.events.COMMIT_OFFSETS, () => {
        if (this.is(consumer)) this.commits.taken();
      });
    }
    this.commits.assignedAnew();
  }

  leave(): void {
    this.consumer = undefined;
    this.membership.abort(new Error('the consumer has ended'));
  }

  pause(topic: string, partition: number): void {
    this.ask((consumer) => {
      consumer.pause([{ topic, partitions: [partition] }]);
    });
  }

  resume(topic: string, partition: number): void {
    this.ask((consumer) => {
      consumer.resume([{ topic, partitions: [partition] }]);
    });
  }

  seek(topic: string, partition: number, offset: number): void {
    this.ask((consumer) => {
      consumer.seek({ topic, partition, offset: String(offset) });
    });
  }

  /**
   * Resolves once Kafka has taken them. One at a time.
   *
   * @throws when this process is no member, ceases to be one or gets partitions assigned anew meanwhile, or
   *   what kafkajs throws; the next commit covers it
   */
  async commit(offsets: TopicPartitionOffset[]): Promise<void> {
    const { consumer, membership } = this;
    if (consumer === undefined) throw new Error('not a member of the consumer group');
    await this.commits.make(() => abortable(consumer.commitOffsets(offsets), membership.signal));
  }

  /**
   * For each try of a commit to ask.
   *
   * @throws an error after which kafkajs does not try again
   */
  assertCommitUpToDate(): void {
    this.commits.assertUpToDate();
  }

  /** A consumer that is ending refuses, and whatever was asked of it ends with it. */
  private ask(of: (consumer: Consumer) => void): void {
    try {
      if (this.consumer !== undefined) of(this.consumer);
    } catch (error) {
      this.logger.debug({ msg: 'refused by a consumer that is ending', error: String(error) });
    }
  }
}
