import { Logger } from '@nestjs/common';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import { type Assignment } from './consumer-callbacks.js';
import { type KafkaInboxOptions } from './kafka-inbox-options.js';
import { type PartitionQueues } from './partition-queues.js';
import { type StateTopics } from './state-topics.js';

/** Goes from the partitions this process has had to those it is assigned. */
export class TakeOver {
  private readonly logger = new Logger('Inbox');

  constructor(
    private readonly options: Pick<KafkaInboxOptions, 'prepare'>,
    private readonly memory: StateTopics,
    private readonly queues: PartitionQueues,
    /** Aborts when the process stops. */
    private readonly signal: AbortSignal,
  ) {}

  /** What is lost is given up before this returns; what is new waits for what is known of it. */
  reassign(assignment: Assignment): void {
    if (this.memory.lackPartitions(assignment)) this.widenState();
    const inputs = this.memory.reassign(assignment);
    this.queues.reassign(inputs, (topic, partition) => this.memory.areAwaited(topic, partition));
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
}
