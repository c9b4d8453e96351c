import { Logger } from '@nestjs/common';
import { type CallSlots } from '#libs/delivery';
import { type Batch, type Kafka } from '#libs/kafkajs-patches';
import { withDeadline } from '../client/deadline.js';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import { type FetchControl } from '../keyed-state/keyed-state-options.js';
import { type KeyedStateTopic } from '../keyed-state/keyed-state-topic.js';
import { type DeadLetterReason, type DeadLetters } from '../producer/dead-letters.js';
import { type InboundRecord } from '../reading/inbound-record.js';
import { toInboundRecord } from '../reading/inbound-record.js';
import { topicSpans } from '../reading/topic-span.js';
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
  kafka: Kafka;
  groupId: string;
  topicPrefix: string;
  deadLetters: Pick<DeadLetters, 'deadLetterOf'>;
  /** Topics that hold the bridge's own state, shared out with the input topics. */
  stateTopics: readonly KeyedStateTopic[];
  /** The calls that messages lead to: they come to rest before partitions go to another process. */
  calls: CallSlots;
  /** Real milliseconds between the beginnings of two transactions of a partition, unless one is full. */
  commitIntervalMs: number;
  /** Called before the first connection, until it succeeds: topics must exist to be subscribed. */
  prepare: (signal: AbortSignal, report: (problem: string) => void) => Promise<void>;
}

/** State that is being restored may wait for a Kafka that says nothing. */
const MEMORY_DEADLINE_MS = 3000;
/** Whoever scrapes metrics waits no longer for Kafka. */
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
 * What comes in from Kafka, from its fetch to its commit. Fetch is decoupled from delivery: of a batch, state goes to what
 * is remembered and messages to their partition, and the batch handler returns at once. Messages are handed over by the
 * dozen and end in any order; the committed offset is the lowest unfinished one.
 */
export class KafkaConsumer {
  /** Why it has not come to joining yet, in words. */
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

  /** Partitions whose messages wait until the state they are judged by is restored. */
  get heldPartitions(): number {
    return this.partitions.heldPartitions;
  }

  /** Why what is remembered can be neither read nor written for a while now, in words. */
  get stateProblem(): string | undefined {
    return this.stateTopics.problem;
  }

  /** Why what messages lead to cannot be committed at all for a while now, in words. */
  get commitProblem(): string | undefined {
    return this.partitions.commitProblem;
  }

  /** Of each topic that what messages lead to is written to, whether it takes that. */
  get writtenTopics(): WrittenTopic[] {
    return this.health.all();
  }

  /** What is not finished, by topic and partition. */
  get backlog(): PartitionBacklog[] {
    return this.partitions.backlog();
  }

  /** The same; where nothing is fetched for now, Kafka is asked for the end. */
  async measureBacklog(): Promise<PartitionBacklog[]> {
    await withDeadline(this.readPausedEnds(), PAUSED_ENDS_DEADLINE_MS);
    return this.backlog;
  }

  /** Stops fetching, lets calls in flight finish, commits, leaves the group; once, however often it is asked. */
  close(): Promise<void> {
    this.closing ??= this.leave();
    return this.closing;
  }

  private async leave(): Promise<void> {
    this.stopping.abort(new Error('the bridge is stopping'));
    await this.drain.drainForStop();
    await this.partitions.endTransactions();
    await withDeadline(this.stateTopics.closeState(), MEMORY_DEADLINE_MS);
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
    const { topic, partition, messages, highWatermark } = batch;
    const name = topic.slice(this.options.topicPrefix.length);
    const inbound = messages.map((message) => toInboundRecord(name, partition, message));
    const [firstOffset, lastOffset] = [batch.firstOffset(), batch.lastOffset()];
    this.push({ topic, partition, highWatermark, firstOffset, lastOffset }, inbound);
  }

  private push(fetch: EmptyFetch, messages: readonly InboundRecord[]): void {
    const { topic, partition } = fetch;
    const [highWatermark, end] = [Number(fetch.highWatermark), Number(fetch.lastOffset) + 1];
    const first = Number(fetch.firstOffset ?? fetch.lastOffset);
    const from = { topic, partition, highWatermark, first, end };
    if (this.partitions.bufferFetched(from, messages))
      this.supervised.member.pause(topic, partition);
  }

  /** What is lost is given up before this returns; what is new waits for what is known of it. */
  private reassign(assignment: Assignment): void {
    const { stateTopics: memory, partitions } = this;
    if (this.stopping.signal.aborted) {
      // what has gone has another owner, whose commits the last one from here must not set back
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

  /** An input has grown while the bridge runs: its state must as well, upon which kafkajs joins anew. */
  private widenState(): void {
    this.logger.warn({ msg: 'messages wait: state has fewer partitions than its input' });
    this.options
      .prepare(this.stopping.signal, () => undefined)
      .catch((error: unknown) => {
        this.logger.error({ msg: 'state not widened', error: describeKafkaFailure(error) });
      });
  }
}

/** The input partitions, by full name, whose messages are judged by state. */
type StateInputs = Pick<AssignedPartitions, 'untilFenced' | 'stateRestored'>;

/** The topics of the bridge's own state among those that its consumer is given. */
class StateTopics {
  constructor(
    private readonly topics: readonly KeyedStateTopic[],
    private readonly topicPrefix: string,
  ) {}

  get names(): string[] {
    return this.topics.map(({ name }) => name);
  }

  /** Why something can be neither read nor written for a while now, in words. */
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

  /** Returns whether the batch was one of state. */
  acceptStateBatch({ topic, partition, messages }: Batch): boolean {
    const state = this.topics.find(({ name }) => name === topic);
    state?.acceptFetched(partition, messages);
    return state !== undefined;
  }

  /** Whether input is assigned whose state is not: a topic of state that is narrower than its input, or not known to all. */
  lackPartitions(assignment: Assignment): boolean {
    return this.topics.some((state) => {
      const own = new Set(assignment.get(state.name));
      const inputs = state.inputs.map(
        (input) => assignment.get(`${this.topicPrefix}${input}`) ?? [],
      );
      return inputs.flat().some((partition) => !own.has(partition));
    });
  }

  /** Returns what of the assignment is input. */
  assignState(assignment: Assignment): Assignment {
    for (const state of this.topics) state.assignPartitions(assignment.get(state.name) ?? []);
    const names = new Set(this.names);
    return new Map([...assignment].filter(([topic]) => !names.has(topic)));
  }

  /** Whether the messages of an input partition are judged by state that is not restored. */
  isStateAwaited(topic: string, partition: number): boolean {
    const name = topic.slice(this.topicPrefix.length);
    return this.topics.some((state) => state.inputs.includes(name) && !state.isRestored(partition));
  }

  async closeState(): Promise<void> {
    await Promise.all(this.topics.map((topic) => topic.closeState()));
  }
}
