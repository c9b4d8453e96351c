import { Logger } from '@nestjs/common';
import { type CallSlots } from '#libs/delivery';
import { fetchedRecords } from '#libs/kafkajs-patches';
import { withDeadline } from '../client/deadline.js';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import { type Batch, type FetchedRecord, type KafkaClient } from '../client/kafka-port.js';
import { type FetchControl } from '../keyed-state/keyed-state-options.js';
import { type KeyedStateTopic } from '../keyed-state/keyed-state-topic.js';
import { type DeadLetterReason, type DeadLetters } from '../producer/dead-letters.js';
import { topicSpans } from '../reading/topics.js';
import { type PartitionBacklog } from './assigned-partition.js';
import { AssignedPartitions } from './assigned-partitions.js';
import { CommitInterval } from './commit-interval.js';
import { CommittedOffsets } from './committed-offsets.js';
import { CallDrain } from './drain-calls.js';
import { type MessageHandler } from './inbound-message.js';
import { PartitionTransactions } from './partition-transactions.js';
import {
  type Assignment,
  type ConsumerCallbacks,
  type ConsumerState,
  type EmptyFetch,
  SupervisedConsumer,
} from './supervised-consumer.js';
import { TopicHealth, type WrittenTopic } from './topic-health.js';

export interface KafkaConsumerOptions {
  kafka: KafkaClient;
  groupId: string;
  topicPrefix: string;
  deadLetters: Pick<DeadLetters, 'deadLetterOf'>;
  /** Topics that hold the bridge's own state, shared out with the input topics. */
  stateTopics: readonly KeyedStateTopic[];
  /** The calls that messages lead to: they are drained before partitions are given up. */
  calls: CallSlots;
  /** Real milliseconds between the beginnings of two transactions of a partition, unless one is full. */
  commitIntervalMs: number;
  /** Called before the first connection, until it succeeds: topics must exist to be subscribed. */
  prepare: (signal: AbortSignal, report: (problem: string) => void) => Promise<void>;
}

/** A restore may wait for a Kafka that does not answer. */
const STATE_DEADLINE_MS = 3000;
/** A scrape of the metrics waits no longer for Kafka. */
const PAUSED_ENDS_DEADLINE_MS = 2000;

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
 * The consumer of all input topics, from the fetch of a message to its commit. Fetch is decoupled from delivery: the batch
 * handler puts messages into the buffer of their partition, records of state into its restore, and returns at once.
 * Messages are handed over by the dozen and end in any order; the committed offset is the lowest unfinished one.
 */
export class KafkaConsumer {
  /** Why it cannot join yet, in words. */
  startProblem: string | undefined;
  private readonly stopping = new AbortController();
  private readonly supervised: SupervisedConsumer;
  private readonly logger = new Logger('Inbox');
  private readonly partitions: AssignedPartitions;
  private readonly drain: CallDrain;
  private readonly stateTopics: StateTopics;
  private readonly health = new TopicHealth();
  private closing: Promise<void> | undefined;

  constructor(
    private readonly options: KafkaConsumerOptions,
    handle: MessageHandler,
  ) {
    const { kafka, groupId } = options;
    const supervised = new SupervisedConsumer(kafka, groupId, this.callbacks());
    this.supervised = supervised;
    const { member } = supervised;
    const transactions = {
      ...{ kafka, groupId, health: this.health },
      committedOffsets: new CommittedOffsets(kafka, groupId),
      interval: new CommitInterval(options.commitIntervalMs),
      mayFence: () => supervised.holdsSession,
    };
    this.partitions = new AssignedPartitions({
      topicPrefix: options.topicPrefix,
      handle,
      deadLetter: (message) => {
        const why = message.isAnswered ? NOT_PUBLISHED : UNHANDLED;
        message.finish([options.deadLetters.deadLetterOf(message, why)]);
      },
      resume: (topic, partition) => {
        member.resume(topic, partition);
      },
      seek: (topic, partition, offset) => {
        member.seek(topic, partition, offset);
      },
      beginTransactions: (topic, partition, progress, listener) => {
        const begun = new PartitionTransactions(topic, partition, progress, transactions, listener);
        begun.beginTransactions();
        return begun;
      },
    });
    this.drain = new CallDrain(options.calls, this.partitions);
    this.stateTopics = new StateTopics(options.stateTopics, options.topicPrefix);
    this.stateTopics.attach(member, this.partitions);
  }

  /**
   * Resolves once the consumer is under supervision; joining the group goes on behind it.
   *
   * @param names of the input topics, without the prefix
   */
  async start(names: readonly string[]): Promise<void> {
    const { supervised: consumer, options, stopping } = this;
    await options.prepare(stopping.signal, (problem) => {
      this.startProblem = problem;
    });
    this.startProblem = undefined;
    if (stopping.signal.aborted) return;
    options.calls.allowWhile(() => consumer.holdsSession);
    const inputs = names.map((name) => `${options.topicPrefix}${name}`);
    consumer.start([...inputs, ...this.stateTopics.names]);
  }

  get state(): ConsumerState {
    return this.stopping.signal.aborted ? 'stopped' : this.supervised.state;
  }

  /** Why the consumer ended the last time, in words. */
  get endedBecause(): string | undefined {
    return this.supervised.endedBecause;
  }

  /** How many partitions wait for their state or the progress of earlier owners. */
  get heldPartitions(): number {
    return this.partitions.heldPartitions;
  }

  /** Why state can be neither restored nor written for a while now, in words. */
  get stateProblem(): string | undefined {
    return this.stateTopics.problem;
  }

  /** Why nothing can be committed for a while now, in words. */
  get commitProblem(): string | undefined {
    return this.partitions.commitProblem;
  }

  /** The topics that transactions write to, and whether they take records. */
  get writtenTopics(): WrittenTopic[] {
    return this.health.all();
  }

  /** Unfinished messages and lag, by topic and partition. */
  get backlog(): PartitionBacklog[] {
    return this.partitions.backlog();
  }

  /** The same, with the ends of paused partitions asked of Kafka. */
  async measureBacklog(): Promise<PartitionBacklog[]> {
    await withDeadline(this.readPausedEnds(), PAUSED_ENDS_DEADLINE_MS);
    return this.backlog;
  }

  /** Stops fetching, lets calls in flight finish, commits, leaves the group; once, however often it is called. */
  close(): Promise<void> {
    this.closing ??= this.leave();
    return this.closing;
  }

  private async leave(): Promise<void> {
    this.stopping.abort(new Error('the bridge is stopping'));
    await this.drain.drainForStop();
    await this.partitions.endTransactions();
    await withDeadline(this.stateTopics.closeState(), STATE_DEADLINE_MS);
    await this.supervised.stop();
  }

  private async readPausedEnds(): Promise<void> {
    for (const topic of this.partitions.pausedTopics) {
      for (const { partition, until } of await topicSpans(this.options.kafka, topic)) {
        this.partitions.endOffsetRead(topic, partition, until);
      }
    }
  }

  private callbacks(): ConsumerCallbacks {
    const isStopping = (): boolean => this.stopping.signal.aborted;
    return {
      onBatch: ({ batch }) => {
        if (!isStopping()) this.fetched(batch);
      },
      onEmptyFetch: (fetch) => {
        if (!isStopping()) this.push(fetch, []);
      },
      onAssigned: (assignment) => {
        this.reassign(assignment);
      },
      onRevoking: (deadlineMs) => this.drain.drainForRebalance(deadlineMs),
      onMembershipConfirmed: () => {
        this.options.calls.wake();
      },
    };
  }

  private fetched(batch: Batch): void {
    if (this.stateTopics.acceptStateBatch(batch)) return;
    const { topic, partition, highWatermark } = batch;
    const [firstOffset, lastOffset] = [batch.firstOffset(), batch.lastOffset()];
    this.push({ topic, partition, highWatermark, firstOffset, lastOffset }, fetchedRecords(batch));
  }

  private push(fetch: EmptyFetch, messages: readonly FetchedRecord[]): void {
    const { topic, partition } = fetch;
    const [highWatermark, end] = [Number(fetch.highWatermark), Number(fetch.lastOffset) + 1];
    const first = Number(fetch.firstOffset ?? fetch.lastOffset);
    const from = { topic, partition, highWatermark, first, end };
    if (this.partitions.bufferFetched(from, messages))
      this.supervised.member.pause(topic, partition);
  }

  /** Gives revoked partitions up before it returns, and holds the new ones. */
  private reassign(assignment: Assignment): void {
    const { stateTopics: memory, partitions } = this;
    if (this.stopping.signal.aborted) {
      // a revoked partition has another owner, whose commits must not be set back by the last one from here
      partitions.revokeAllBut(assignment);
      return;
    }
    if (memory.lackPartitions(assignment)) this.widenState();
    const inputs = memory.assignState(assignment);
    partitions.assignPartitions(inputs, (topic, partition) =>
      memory.isStateAwaited(topic, partition),
    );
    this.drain.resumeCalls();
  }

  /** Adds partitions to the state of an input that has more since; kafkajs joins again when it notices. */
  private widenState(): void {
    this.logger.warn({ msg: 'messages wait: state has fewer partitions than its input' });
    this.options
      .prepare(this.stopping.signal, () => undefined)
      .catch((error: unknown) => {
        this.logger.error({ msg: 'state not widened', error: describeKafkaFailure(error) });
      });
  }
}

/** The input partitions, by full name, whose messages wait for state. */
type StateInputs = Pick<AssignedPartitions, 'untilFenced' | 'stateRestored'>;

/** The topics of keyed state among those that the consumer subscribes to. */
class StateTopics {
  constructor(
    private readonly topics: readonly KeyedStateTopic[],
    private readonly topicPrefix: string,
  ) {}

  get names(): string[] {
    return this.topics.map(({ name }) => name);
  }

  /** Why state can be neither restored nor written for a while now, in words. */
  get problem(): string | undefined {
    return this.topics.map(({ problem }) => problem).find(Boolean);
  }

  attach(member: FetchControl, inputs: StateInputs): void {
    for (const state of this.topics) {
      const topics = state.inputs.map((input) => `${this.topicPrefix}${input}`);
      state.attachConsumer(member, {
        fenced: async (partition) => {
          await Promise.all(topics.map((topic) => inputs.untilFenced(topic, partition)));
        },
        restored: (partition) => {
          for (const topic of topics) inputs.stateRestored(topic, partition);
        },
      });
    }
  }

  /** Returns whether the batch was of a state topic. */
  acceptStateBatch({ topic, partition, messages }: Batch): boolean {
    const state = this.topics.find(({ name }) => name === topic);
    state?.acceptFetched(partition, messages);
    return state !== undefined;
  }

  /** Whether an input partition is assigned without its state: the state topic has fewer partitions, or is not known to all members. */
  lackPartitions(assignment: Assignment): boolean {
    return this.topics.some((state) => {
      const own = new Set(assignment.get(state.name));
      const inputs = state.inputs.map(
        (input) => assignment.get(`${this.topicPrefix}${input}`) ?? [],
      );
      return inputs.flat().some((partition) => !own.has(partition));
    });
  }

  /** Returns the input topics of the assignment. */
  assignState(assignment: Assignment): Assignment {
    for (const state of this.topics) state.assignPartitions(assignment.get(state.name) ?? []);
    const names = new Set(this.names);
    return new Map([...assignment].filter(([topic]) => !names.has(topic)));
  }

  /** Whether the messages of an input partition wait for state that is not restored. */
  isStateAwaited(topic: string, partition: number): boolean {
    const name = topic.slice(this.topicPrefix.length);
    return this.topics.some((state) => state.inputs.includes(name) && !state.isRestored(partition));
  }

  async closeState(): Promise<void> {
    await Promise.all(this.topics.map((topic) => topic.closeState()));
  }
}
