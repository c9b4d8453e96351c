import { Logger } from '@nestjs/common';
import { type CustomTransportStrategy, Server } from '@nestjs/microservices';
import { type EachBatchPayload } from 'kafkajs';
import { lastValueFrom } from 'rxjs';
import { withDeadline } from '../deadline.js';
import { type DeadLetterReason } from '../outbox/dead-letters.js';
import { type Assignment, type ConsumerState } from './consumer-callbacks.js';
import { type InboundMessage } from './inbound-message.js';
import { type KafkaInboxOptions } from './kafka-inbox-options.js';
import { OffsetCommits } from './offset-commits.js';
import { type PartitionBacklog, PartitionQueues } from './partition-queues.js';
import { SupervisedConsumer } from './supervised-consumer.js';
import { toInboundRecord } from './to-inbound-record.js';

/** How long a stop waits for calls in flight. */
const DRAIN_DEADLINE_MS = 10_000;
const CUT_OFF_DEADLINE_MS = 500;
const ANSWERS_DEADLINE_MS = 1000;

const UNHANDLED: DeadLetterReason = {
  code: 'invalid-message',
  detail: 'the bridge could not handle this message; its log says why',
  attempts: 0,
};

/**
 * Nest's way into Kafka: controllers name topics with `@EventPattern`, without the prefix. Fetch is
 * decoupled from delivery: a batch goes into its partition's queue and the batch handler returns at
 * once. A controller is handed messages by the dozen, which end in any order; the committed offset is the
 * lowest unfinished one.
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
      (messages) => this.dispatch(messages),
      (topic, partition) => this.consumer?.resume(topic, partition),
      (message) => options.deadLetters.publish(message, UNHANDLED),
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

  /** Partitions whose messages wait until the state they are judged by is restored. */
  get heldPartitions(): number {
    return this.queues.held;
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
    const { options } = this;
    const { kafka, groupId, topicPrefix, stateTopics } = options;
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
        onRevoking: (deadlineMs) => this.comeToRest(deadlineMs),
        onSign: () => {
          options.calls.wake();
        },
      },
    );
    for (const stateTopic of stateTopics) {
      stateTopic.attach(consumer, (partition) => {
        for (const name of stateTopic.inputs)
          this.queues.release(`${topicPrefix}${name}`, partition);
      });
    }
    options.calls.allowWhile(() => consumer.holdsSession);
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
    const inbound = messages.map((message) => toInboundRecord(name, partition, message));
    const from = { topic, partition, highWatermark: Number(batch.highWatermark) };
    if (this.queues.push(from, inbound)) this.consumer?.pause(topic, partition);
  }

  private reassign(assignment: Assignment): void {
    if (this.stopping.signal.aborted) return;
    const { stateTopics, calls } = this.options;
    for (const stateTopic of stateTopics) {
      stateTopic.reassign(assignment.get(stateTopic.name) ?? []);
    }
    this.queues.reassign(this.inputsOf(assignment), (topic, partition) =>
      this.mustWaitForState(topic, partition),
    );
    calls.resume();
  }

  /** Messages that are judged by state wait until that is restored. */
  private mustWaitForState(topic: string, partition: number): boolean {
    const name = topic.slice(this.options.topicPrefix.length);
    return this.options.stateTopics.some(
      (state) => state.inputs.includes(name) && state.isRestoring(partition),
    );
  }

  /** What is still under way at the deadline is cut off, rather than made a second time by the new owner meanwhile. */
  private async comeToRest(deadlineMs: number): Promise<void> {
    const { calls } = this.options;
    calls.hold();
    if (!(await withDeadline(calls.idle(), deadlineMs))) {
      this.logger.warn({ msg: 'calls cut off: partitions may be lost', calls: calls.underWay });
      calls.cutOff(new Error('the partition may go to another process'));
      await withDeadline(calls.idle(), CUT_OFF_DEADLINE_MS);
    }
    await withDeadline(this.commitAnswered(), ANSWERS_DEADLINE_MS);
  }

  /** Spares the next owner what has been done here. */
  private async commitAnswered(): Promise<void> {
    await this.options.outbox.idle();
    await this.commits.commitNow();
  }

  private async dispatch(messages: readonly InboundMessage[]): Promise<void> {
    const [first] = messages;
    const handler = this.messageHandlers.get(first?.topic ?? '');
    if (handler === undefined) throw new Error(`no controller handles ${first?.topic}`);
    const result = this.transformToObservable(await handler(messages));
    await lastValueFrom(result, { defaultValue: undefined });
  }

  private inputsOf(assignment: Assignment): Assignment {
    const stateTopics = new Set(this.options.stateTopics.map(({ name }) => name));
    return new Map([...assignment].filter(([topic]) => !stateTopics.has(topic)));
  }
}
