import { Logger } from '@nestjs/common';
import { type CustomTransportStrategy, Server } from '@nestjs/microservices';
import { lastValueFrom } from 'rxjs';
import { withDeadline } from '../deadline.js';
import { type EachBatchPayload } from '../kafkajs.js';
import { type DeadLetterReason } from '../outbox/dead-letters.js';
import { CallsAtRest } from './calls-at-rest.js';
import {
  type Assignment,
  type ConsumerCallbacks,
  type ConsumerState,
  type EmptyFetch,
} from './consumer-callbacks.js';
import { type InboundMessage, type InboundRecord } from './inbound-message.js';
import { type KafkaInboxOptions } from './kafka-inbox-options.js';
import { OffsetCommits } from './offset-commits.js';
import { type PartitionBacklog } from './owned-queue.js';
import { PartitionQueues } from './partition-queues.js';
import { readPausedEnds } from './paused-ends.js';
import { StateTopics } from './state-topics.js';
import { SupervisedConsumer } from './supervised-consumer.js';
import { TakeOver } from './take-over.js';
import { toInboundRecord } from './to-inbound-record.js';

/** How long a stop waits for calls in flight. */
const DRAIN_DEADLINE_MS = 10_000;
const FIRST_COMMIT_DEADLINE_MS = 1500;
/** State that is being restored may wait for a Kafka that says nothing. */
const MEMORY_DEADLINE_MS = 3000;

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
  private readonly consumer: SupervisedConsumer;
  private readonly queues: PartitionQueues;
  private readonly commits: OffsetCommits;
  private readonly rest: CallsAtRest;
  private readonly memory: StateTopics;
  private readonly takeOver: TakeOver;
  /** Why it has not come to joining yet, in words. */
  startProblem: string | undefined;
  private closing: Promise<void> | undefined;

  constructor(private readonly options: KafkaInboxOptions) {
    super();
    this.consumer = new SupervisedConsumer(options.kafka, options.groupId, this.callbacks());
    const { consumer } = this;
    const { member } = consumer;
    this.queues = new PartitionQueues({
      handle: (messages) => this.dispatch(messages),
      setAside: (message) => options.deadLetters.publish(message, UNHANDLED),
      resume: (topic, partition) => {
        member.resume(topic, partition);
      },
      mayTell: () => consumer.holdsSession,
      onCommitWanted: () => void this.commits.commitNow(),
    });
    this.commits = new OffsetCommits(
      this.queues,
      (offsets) => member.commit(offsets),
      () => options.outbox.toldUntilMs,
    );
    this.rest = new CallsAtRest(options.calls, options.outbox, this.queues, this.commits);
    this.memory = new StateTopics(options.stateTopics, options.topicPrefix);
    this.memory.attach(member, (topic, partition) => {
      this.queues.release(topic, partition);
    });
    this.takeOver = new TakeOver(options, this.memory, this.queues, this.stopping.signal);
  }

  /** Returns once the consumer is under supervision; joining the group goes on behind it. */
  listen(callback: (error?: unknown) => void): void {
    const report = (problem: string): void => {
      this.startProblem = problem;
    };
    void this.options.prepare(this.stopping.signal, report).then(
      () => {
        this.startProblem = undefined;
        this.start();
        callback();
      },
      (error: unknown) => {
        callback(error);
      },
    );
  }

  get state(): ConsumerState {
    return this.stopping.signal.aborted ? 'stopped' : this.consumer.state;
  }

  /** Why the consumer ended the last time, in words. */
  get endedBecause(): string | undefined {
    return this.consumer.endedBecause;
  }

  /** Partitions whose messages wait until the state they are judged by is restored. */
  get heldPartitions(): number {
    return this.queues.held;
  }

  /** Why what is remembered can be neither read nor written for a while now, in words. */
  get memoryProblem(): string | undefined {
    return this.memory.problem;
  }

  /** What is not finished, by topic and partition. */
  get backlog(): PartitionBacklog[] {
    return this.queues.backlog();
  }

  /** The same; where nothing is fetched for now, Kafka is asked for the end. */
  async measureBacklog(): Promise<PartitionBacklog[]> {
    await readPausedEnds(this.options.kafka, this.queues);
    return this.backlog;
  }

  /** Stops fetching, lets calls in flight finish, commits, leaves the group; once, however often it is asked. */
  close(): Promise<void> {
    this.closing ??= this.drainAndLeave();
    return this.closing;
  }

  private async drainAndLeave(): Promise<void> {
    this.stopping.abort(new Error('the bridge is stopping'));
    this.queues.holdBack();
    // Of a partition that has only just come here nothing could be told of the calls in flight without a commit.
    await withDeadline(this.commits.commitNow(), FIRST_COMMIT_DEADLINE_MS);
    const drained = this.queues.closeAll();
    // A stop in the middle of a rebalance: what waits to be called again is let go of now.
    this.rest.end();
    if (!(await withDeadline(drained, DRAIN_DEADLINE_MS))) {
      // Its answer could not be waited for: its message stays uncommitted.
      await this.rest.cutOff();
    }
    await this.commits.finish();
    await withDeadline(this.memory.close(), MEMORY_DEADLINE_MS);
    await this.consumer.stop();
  }

  override on(): never {
    throw new Error('KafkaInboxStrategy has no events: ask it for its state');
  }

  override unwrap(): never {
    throw new Error('KafkaInboxStrategy does not lend its consumer');
  }

  private start(): void {
    if (this.stopping.signal.aborted) return;
    const { consumer, options } = this;
    const inputs = [...this.messageHandlers.keys()].map((name) => `${options.topicPrefix}${name}`);
    options.calls.allowWhile(() => consumer.holdsSession);
    this.commits.start();
    consumer.start([...inputs, ...this.memory.names]);
  }

  private callbacks(): ConsumerCallbacks {
    return {
      onBatch: (payload) => {
        this.accept(payload);
      },
      onEmptyFetch: (fetch) => {
        this.take(fetch, []);
      },
      onAssigned: (assignment) => {
        this.reassign(assignment);
      },
      onRevoking: (deadlineMs) => this.rest.begin(deadlineMs),
      onSign: () => {
        this.options.calls.wake();
        this.queues.wake();
      },
    };
  }

  private accept({ batch }: EachBatchPayload): void {
    if (this.stopping.signal.aborted || this.memory.accept(batch)) return;
    const { topic, partition, messages } = batch;
    const name = topic.slice(this.options.topicPrefix.length);
    const inbound = messages.map((message) => toInboundRecord(name, partition, message));
    const { highWatermark } = batch;
    this.take({ topic, partition, highWatermark, lastOffset: batch.lastOffset() }, inbound);
  }

  private take(fetch: EmptyFetch, messages: readonly InboundRecord[]): void {
    if (this.stopping.signal.aborted) return;
    const { topic, partition } = fetch;
    const [highWatermark, end] = [Number(fetch.highWatermark), Number(fetch.lastOffset) + 1];
    const mustPause = this.queues.push({ topic, partition, highWatermark, end }, messages);
    if (mustPause) this.consumer.member.pause(topic, partition);
  }

  private reassign(assignment: Assignment): void {
    if (this.stopping.signal.aborted) {
      // what has gone has another owner, whose commits the last one from here must not set back
      this.queues.dropAllBut(assignment);
      return;
    }
    this.takeOver.reassign(assignment);
    this.rest.end();
  }

  private async dispatch(messages: readonly InboundMessage[]): Promise<void> {
    const [first] = messages;
    const handler = this.messageHandlers.get(first?.topic ?? '');
    if (handler === undefined) throw new Error(`no controller handles ${first?.topic}`);
    const result = this.transformToObservable(await handler(messages));
    await lastValueFrom(result, { defaultValue: undefined });
  }
}
