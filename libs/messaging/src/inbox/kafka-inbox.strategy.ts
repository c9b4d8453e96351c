import { Logger } from '@nestjs/common';
import { type CustomTransportStrategy, Server } from '@nestjs/microservices';
import { type EachBatchPayload, type Kafka, type KafkaMessage } from 'kafkajs';
import { lastValueFrom } from 'rxjs';
import { everyRealMs } from '#libs/clock';
import { withDeadline } from '../deadline.js';
import { type KeyedStateTopic } from '../keyed-state/keyed-state-topic.js';
import { type DeadLetters } from '../outbox/dead-letters.js';
import { deliverMessage } from './deliver-message.js';
import { type InboundMessage } from './inbound-message.js';
import { type PartitionBacklog, PartitionQueues } from './partition-queues.js';
import { type Assignment, type ConsumerState, SupervisedConsumer } from './supervised-consumer.js';

export interface KafkaInboxOptions {
  kafka: Kafka;
  groupId: string;
  topicPrefix: string;
  deadLetters: Pick<DeadLetters, 'publish'>;
  /** Topics that hold the bridge's own state, shared out with the input topics. */
  stateTopics: readonly KeyedStateTopic[];
  /** Called before the first connection, until it succeeds: topics must exist to be subscribed. */
  prepare: (signal: AbortSignal) => Promise<void>;
}

const COMMIT_INTERVAL_MS = 500;
/** How long a stop waits for calls in flight. */
const DRAIN_DEADLINE_MS = 10_000;
const COMMIT_DEADLINE_MS = 1500;

/**
 * Nest's way into Kafka: controllers name topics with `@EventPattern`, without the prefix. Fetch is
 * decoupled from delivery: a batch goes into its partition's queue and the batch handler returns at
 * once, while handlers finish in any order and the committed offset is the lowest unfinished one.
 */
export class KafkaInboxStrategy extends Server implements CustomTransportStrategy {
  protected override readonly logger = new Logger('Inbox');
  private readonly stopping = new AbortController();
  private readonly queues: PartitionQueues;
  private consumer: SupervisedConsumer | undefined;
  private stopCommitting: () => void = () => undefined;

  constructor(private readonly options: KafkaInboxOptions) {
    super();
    this.queues = new PartitionQueues(
      (message) => deliverMessage(message, (it) => this.dispatch(it), options.deadLetters),
      (topic, partition) => this.consumer?.resume(topic, partition),
    );
  }

  /** Returns once the consumer is under supervision; joining the group goes on behind it. */
  listen(callback: (error?: unknown) => void): void {
    void this.options.prepare(this.stopping.signal).then(
      () => {
        this.start();
        callback();
      },
      (error: unknown) => {
        callback(error);
      },
    );
  }

  get state(): ConsumerState {
    return this.consumer?.state ?? 'starting';
  }

  /** Messages fetched and not yet finished, by topic and partition. */
  get backlog(): PartitionBacklog[] {
    return this.queues.backlog();
  }

  /** Stops fetching, lets calls in flight finish, commits, leaves the group. */
  async close(): Promise<void> {
    this.stopping.abort(new Error('the bridge is stopping'));
    this.stopCommitting();
    await withDeadline(this.queues.closeAll(), DRAIN_DEADLINE_MS);
    await withDeadline(this.commit(), COMMIT_DEADLINE_MS);
    await Promise.all(this.options.stateTopics.map((topic) => topic.close()));
    await this.consumer?.stop();
  }

  override on(): never {
    throw new Error('KafkaInboxStrategy has no events: ask it for its state');
  }

  override unwrap(): never {
    throw new Error('KafkaInboxStrategy does not lend its consumer');
  }

  private start(): void {
    if (this.stopping.signal.aborted) return;
    const { kafka, groupId, topicPrefix, stateTopics } = this.options;
    const inputTopics = [...this.messageHandlers.keys()].map((name) => `${topicPrefix}${name}`);
    const topics = [...inputTopics, ...stateTopics.map(({ name }) => name)];
    const consumer = new SupervisedConsumer(
      kafka,
      { groupId, topics },
      {
        onBatch: (payload) => {
          this.accept(payload);
        },
        onAssigned: (assignment) => {
          this.reassign(assignment);
        },
      },
    );
    for (const stateTopic of stateTopics) stateTopic.attach(consumer);
    this.consumer = consumer;
    this.stopCommitting = everyRealMs(COMMIT_INTERVAL_MS, () => void this.commit());
    consumer.start();
  }

  private accept({ batch }: EachBatchPayload): void {
    const { topic, partition, messages } = batch;
    const stateTopic = this.options.stateTopics.find(({ name }) => name === topic);
    if (stateTopic !== undefined) {
      stateTopic.accept(partition, messages);
      return;
    }
    const name = topic.slice(this.options.topicPrefix.length);
    const inbound = messages.map((message) => toInbound(name, partition, message));
    const from = { topic, partition, highWatermark: Number(batch.highWatermark) };
    if (this.queues.push(from, inbound)) this.consumer?.pause(topic, partition);
  }

  private reassign(assignment: Assignment): void {
    for (const stateTopic of this.options.stateTopics) {
      stateTopic.reassign(assignment.get(stateTopic.name) ?? []);
    }
    this.queues.keepOnly(assignment);
  }

  private async dispatch(message: InboundMessage): Promise<void> {
    const handler = this.getHandlerByPattern(message.topic);
    if (handler === null) throw new Error(`no controller handles ${message.topic}`);
    const result = this.transformToObservable(await handler(message));
    await lastValueFrom(result, { defaultValue: undefined });
  }

  private async commit(): Promise<void> {
    const offsets = this.queues.takeCommittable();
    if (offsets.length === 0) return;
    try {
      await this.consumer?.commit(offsets);
    } catch (error) {
      this.queues.commitFailed(offsets);
      this.logger.warn({ msg: 'offsets not committed, will try again', error: String(error) });
    }
  }
}

function toInbound(
  topic: string,
  partition: number,
  message: KafkaMessage,
): Omit<InboundMessage, 'signal'> {
  const { key, value, headers, timestamp } = message;
  const offset = Number(message.offset);
  return { topic, partition, offset, timestamp, key, value, headers: headers ?? {} };
}
