import { Logger } from '@nestjs/common';
import { type CustomTransportStrategy, Server } from '@nestjs/microservices';
import { type EachBatchPayload } from 'kafkajs';
import { lastValueFrom } from 'rxjs';
import { withDeadline } from '../deadline.js';
import { type Assignment, type ConsumerState } from './consumer-callbacks.js';
import { deliverMessage } from './deliver-message.js';
import { type InboundMessage } from './inbound-message.js';
import { type KafkaInboxOptions } from './kafka-inbox-options.js';
import { OffsetCommits } from './offset-commits.js';
import { type PartitionBacklog, PartitionQueues } from './partition-queues.js';
import { SupervisedConsumer } from './supervised-consumer.js';
import { toInboundMessage } from './to-inbound-message.js';

/** How long a stop waits for calls in flight. */
const DRAIN_DEADLINE_MS = 10_000;

/**
 * Nest's way into Kafka: controllers name topics with `@EventPattern`, without the prefix. Fetch is
 * decoupled from delivery: a batch goes into its partition's queue and the batch handler returns at
 * once, while handlers finish in any order and the committed offset is the lowest unfinished one.
 */
export class KafkaInboxStrategy extends Server implements CustomTransportStrategy {
  protected override readonly logger = new Logger('Inbox');
  private readonly stopping = new AbortController();
  private readonly queues: PartitionQueues;
  private readonly commits: OffsetCommits;
  /** Why it has not come to joining yet, in words. */
  startProblem: string | undefined;
  private consumer: SupervisedConsumer | undefined;
  private closing: Promise<void> | undefined;

  constructor(private readonly options: KafkaInboxOptions) {
    super();
    this.queues = new PartitionQueues(
      (message) => deliverMessage(message, (it) => this.dispatch(it), options.deadLetters),
      (topic, partition) => this.consumer?.resume(topic, partition),
    );
    this.commits = new OffsetCommits(this.queues, async (offsets) =>
      this.consumer?.commit(offsets),
    );
  }

  /** Returns once the consumer is under supervision; joining the group goes on behind it. */
  listen(callback: (error?: unknown) => void): void {
    const report = (problem: string): void => {
      this.startProblem = problem;
    };
    void this.options.prepare(this.stopping.signal, report).then(
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

  /** Stops fetching, lets calls in flight finish, commits, leaves the group; once, however often it is asked. */
  close(): Promise<void> {
    this.closing ??= this.drainAndLeave();
    return this.closing;
  }

  private async drainAndLeave(): Promise<void> {
    this.stopping.abort(new Error('the bridge is stopping'));
    await withDeadline(this.queues.closeAll(), DRAIN_DEADLINE_MS);
    await this.commits.finish();
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
    this.commits.start();
    consumer.start();
  }

  private accept({ batch }: EachBatchPayload): void {
    if (this.stopping.signal.aborted) return;
    const { topic, partition, messages } = batch;
    const stateTopic = this.options.stateTopics.find(({ name }) => name === topic);
    if (stateTopic !== undefined) {
      stateTopic.accept(partition, messages);
      return;
    }
    const name = topic.slice(this.options.topicPrefix.length);
    const inbound = messages.map((message) => toInboundMessage(name, partition, message));
    const from = { topic, partition, highWatermark: Number(batch.highWatermark) };
    if (this.queues.push(from, inbound)) this.consumer?.pause(topic, partition);
  }

  private reassign(assignment: Assignment): void {
    if (this.stopping.signal.aborted) return;
    for (const stateTopic of this.options.stateTopics) {
      stateTopic.reassign(assignment.get(stateTopic.name) ?? []);
    }
    this.queues.reassign(this.inputsOf(assignment));
  }

  private async dispatch(message: InboundMessage): Promise<void> {
    const handler = this.getHandlerByPattern(message.topic);
    if (handler === null) throw new Error(`no controller handles ${message.topic}`);
    const result = this.transformToObservable(await handler(message));
    await lastValueFrom(result, { defaultValue: undefined });
  }

  private inputsOf(assignment: Assignment): Assignment {
    const stateTopics = new Set(this.options.stateTopics.map(({ name }) => name));
    return new Map([...assignment].filter(([topic]) => !stateTopics.has(topic)));
  }
}
