import { Logger } from '@nestjs/common';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import { type Assignment } from './consumer-callbacks.js';
import { type KafkaInboxOptions } from './kafka-inbox-options.js';
import { type OwnedQueue } from './owned-queue.js';
import { type PartitionQueues } from './partition-queues.js';
import { recallCommits } from './recall-commits.js';
import { type StateTopics } from './state-topics.js';

/** Goes from the partitions this process has had to those it is assigned. */
export class TakeOver {
  private readonly logger = new Logger('Inbox');

  constructor(
    private readonly options: Pick<
      KafkaInboxOptions,
      'kafka' | 'groupId' | 'prepare' | 'recallTold'
    >,
    private readonly memory: StateTopics,
    private readonly queues: PartitionQueues,
    /** Aborts when the process stops. */
    private readonly signal: AbortSignal,
  ) {}

  /** What is lost is given up before this returns; what is new waits for what is known of it. */
  reassign(assignment: Assignment): void {
    if (this.memory.lackPartitions(assignment)) this.widenState();
    const inputs = this.memory.reassign(assignment);
    const fresh = this.queues.reassign(inputs, (topic, partition) =>
      this.memory.areAwaited(topic, partition),
    );
    if (fresh.length > 0) void this.recall(fresh);
  }

  /** An input has grown while the bridge runs: its state must as well, upon which kafkajs joins anew. */
  private widenState(): void {
    this.logger.warn({ msg: 'messages wait: state has fewer partitions than its input' });
    this.options
      .prepare(this.signal, () => undefined)
      .catch((error: unknown) => {
        this.logger.error({ msg: 'state not widened', error: describeKafkaFailure(error) });
      });
  }

  private async recall(fresh: readonly OwnedQueue[]): Promise<void> {
    const { kafka, groupId, recallTold } = this.options;
    const left = await recallCommits(kafka, groupId, fresh, this.signal);
    const known = left.filter((it) => it !== undefined);
    await recallTold?.(known, this.signal);
    fresh.forEach((owned, index) => {
      owned.recall(left[index]);
    });
  }
}
