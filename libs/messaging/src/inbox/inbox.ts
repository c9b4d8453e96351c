import { withDeadline } from '../deadline.js';
import { type DeadLetterReason } from '../outbox/dead-letters.js';
import { CallsAtRest } from './calls-at-rest.js';
import { CommitPace } from './commit-pace.js';
import {
  type Assignment,
  type ConsumerCallbacks,
  type ConsumerState,
} from './consumer-callbacks.js';
import { type MessageHandler } from './inbound-message.js';
import { Intake } from './intake.js';
import { type KafkaInboxOptions } from './kafka-inbox-options.js';
import { PartitionTransactions } from './partition-transactions.js';
import { type PartitionBacklog } from './owned-queue.js';
import { PartitionQueues } from './partition-queues.js';
import { Recalls } from './recalls.js';
import { readPausedEnds } from './paused-ends.js';
import { StateTopics } from './state-topics.js';
import { SupervisedConsumer } from './supervised-consumer.js';
import { TakeOver } from './take-over.js';
import { TopicHealth, type WrittenTopic } from './topic-health.js';

/** State that is being restored may wait for a Kafka that says nothing. */
const MEMORY_DEADLINE_MS = 3000;

const UNHANDLED: DeadLetterReason = {
  code: 'invalid-message',
  detail: 'the bridge could not handle this message; its log says why',
  attempts: 0,
};

const NOT_PUBLISHED: DeadLetterReason = {
  code: 'invalid-message',
  detail: 'the service has answered, but the outcome could not be published; the log says both',
  attempts: 0,
};

/**
 * What comes in from Kafka, from its fetch to its commit. Fetch is decoupled from delivery: a batch goes into its
 * partition's queue and the batch handler returns at once. Messages are handed over by the dozen and end in any order;
 * the committed offset is the lowest unfinished one.
 */
export class Inbox {
  /** Why it has not come to joining yet, in words. */
  startProblem: string | undefined;
  private readonly stopping = new AbortController();
  private readonly consumer: SupervisedConsumer;
  private readonly queues: PartitionQueues;
  private readonly rest: CallsAtRest;
  private readonly memory: StateTopics;
  private readonly health = new TopicHealth();
  private readonly intake: Intake;
  private readonly takeOver: TakeOver;
  private closing: Promise<void> | undefined;

  constructor(
    private readonly options: KafkaInboxOptions,
    handle: MessageHandler,
  ) {
    this.consumer = new SupervisedConsumer(options.kafka, options.groupId, this.callbacks());
    const { consumer } = this;
    const { member } = consumer;
    const { kafka, groupId } = options;
    const pace = new CommitPace(options.commitIntervalMs);
    const recalls = new Recalls(kafka, groupId);
    const mayFence = (): boolean => consumer.holdsSession;
    const transactions = { kafka, groupId, recalls, health: this.health, pace, mayFence };
    this.queues = new PartitionQueues({
      handle,
      setAside: (message) => {
        const why = message.isAnswered ? NOT_PUBLISHED : UNHANDLED;
        message.finish([options.deadLetters.letterOf(message, why)]);
      },
      resume: (topic, partition) => {
        member.resume(topic, partition);
      },
      seek: (topic, partition, offset) => {
        member.seek(topic, partition, offset);
      },
      transactions: (topic, partition, progress, listener) => {
        const begun = new PartitionTransactions(topic, partition, progress, transactions, listener);
        begun.start();
        return begun;
      },
    });
    this.rest = new CallsAtRest(options.calls, this.queues);
    this.memory = new StateTopics(options.stateTopics, options.topicPrefix);
    this.memory.attach(member, (topic, partition) => {
      this.queues.release(topic, partition);
    });
    this.intake = new Intake(options.topicPrefix, this.memory, this.queues, member);
    this.takeOver = new TakeOver(options, this.memory, this.queues, this.stopping.signal);
  }

  /**
   * Resolves once the consumer is under supervision; joining the group goes on behind it.
   *
   * @param names of the input topics, without the prefix
   */
  async start(names: readonly string[]): Promise<void> {
    const { consumer, options, stopping } = this;
    await options.prepare(stopping.signal, (problem) => {
      this.startProblem = problem;
    });
    this.startProblem = undefined;
    if (stopping.signal.aborted) return;
    options.calls.allowWhile(() => consumer.holdsSession);
    const inputs = names.map((name) => `${options.topicPrefix}${name}`);
    consumer.start([...inputs, ...this.memory.names]);
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

  /** Why what messages lead to cannot be committed at all for a while now, in words. */
  get commitProblem(): string | undefined {
    return this.queues.problem;
  }

  /** Of each topic that what messages lead to is written to, whether it takes that. */
  get writtenTopics(): WrittenTopic[] {
    return this.health.all();
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
    this.closing ??= this.leave();
    return this.closing;
  }

  private async leave(): Promise<void> {
    this.stopping.abort(new Error('the bridge is stopping'));
    await this.rest.finish();
    await this.queues.closeTransactions();
    await withDeadline(this.memory.close(), MEMORY_DEADLINE_MS);
    await this.consumer.stop();
  }

  private callbacks(): ConsumerCallbacks {
    const isStopping = (): boolean => this.stopping.signal.aborted;
    return {
      onBatch: ({ batch }) => {
        if (!isStopping()) this.intake.take(batch);
      },
      onEmptyFetch: (fetch) => {
        if (!isStopping()) this.intake.takeEmpty(fetch);
      },
      onAssigned: (assignment) => {
        this.reassign(assignment);
      },
      onRevoking: (deadlineMs) => this.rest.begin(deadlineMs),
      onSign: () => {
        this.options.calls.wake();
      },
    };
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
}
