import { Logger } from '@nestjs/common';
import { type CustomTransportStrategy, Server } from '@nestjs/microservices';
import { lastValueFrom } from 'rxjs';
import { everyRealMs, withDeadline } from '#libs/clock';
import type { CallSlots } from '#libs/delivery';
import { fetchedRecords } from '#libs/kafkajs-patches';
import type { Tracing } from '#libs/tracing';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import type { TopicSpecification } from '../client/ensure-topics.js';
import type { Batch, KafkaClient, PartitionAssignment } from '../client/kafka-port.js';
import type { KeyedStateTopic } from '../keyed-state/keyed-state-topic.js';
import { CommittedOffsets } from '../producer/committed-offsets.js';
import { CommitInterval, PartitionTransactions } from '../producer/partition-transactions.js';
import { stateLogsOf } from '../producer/state-logs.js';
import { TopicHealth } from '../producer/write-failures.js';
import { topicSpans } from '../reading/topics.js';
import type { PartitionBacklog } from './assigned-partition.js';
import { AssignedPartitions } from './assigned-partitions.js';
import {
  decodeFirst,
  type InboundMessage,
  type MessageHandler,
  type ValueDecoder,
} from './inbound-message.js';
import {
  type ConsumerCallbacks,
  type ConsumerState,
  SupervisedConsumer,
} from './supervised-consumer.js';

interface KafkaConsumerOptions {
  kafka: KafkaClient;
  groupId: string;
  topicPrefix: string;
  /** Finishes a message that cannot be handled; `areCallsAnswered` as in {@link InboundMessage.fail}. */
  giveUp: (message: InboundMessage, areCallsAnswered: boolean) => void;
  /** Topics that hold the bridge's own state; the group assigns their partitions together with the inputs. */
  stateTopics: readonly KeyedStateTopic[];
  /** Calls for messages, drained before partitions are revoked. */
  calls: CallSlots;
  /** Real milliseconds between the begins of two transactions of a partition, unless one is full. */
  commitIntervalMs: number;
  /** Real milliseconds after which a stop cuts calls off; default 10 s. */
  finishDeadlineMs?: number;
  tracing?: Pick<Tracing, 'messageStarts'>;
  /** Decodes values before they are handled; by default they stay as they are. */
  decode?: ValueDecoder | undefined;
  /** Internal topics that have to be as wide as an input; {@link prepare} widens them. Default none. */
  widened?: readonly Pick<TopicSpecification, 'name' | 'asWideAs'>[];
  /** Creates and widens topics, before the first connection and when an input has more partitions. */
  prepare: (signal: AbortSignal, report: (problem: string) => void) => Promise<void>;
}

const FINISH_DEADLINE_MS = 10_000;
const CUT_OFF_DEADLINE_MS = 500;
/** Calls under way may outlast the session or the process, and results that are already there would wait with them. */
const COMMIT_EVERY_MS = 100;
/** Entries not committed within it wait for a topic that takes no records; the next owner repeats their messages. */
const COMMIT_DEADLINE_MS = 1000;
/** Longer than in a rebalance, where other members wait for the partitions. */
const STOP_COMMIT_DEADLINE_MS = 3000;
/** A restore may be waiting for a broker that does not answer. */
const STATE_DEADLINE_MS = 3000;
/** Limits how long a scrape of the metrics waits for Kafka. */
const PAUSED_ENDS_DEADLINE_MS = 2000;

/**
 * The consumer of all input topics, from the fetch of a message to its commit. Fetch is decoupled from delivery: the
 * batch handler puts messages into the buffer of their partition, records of state into its restore, and returns at
 * once. Messages are handed over in chunks and end in any order; the committed offset is the lowest unfinished one.
 */
export class KafkaConsumer {
  startProblem: string | undefined;
  private readonly stopping = new AbortController();
  private readonly supervised: SupervisedConsumer;
  private readonly logger = new Logger('Consumer');
  private readonly partitions: AssignedPartitions;
  /** What operators see of the input partitions. */
  readonly inputs: Pick<
    AssignedPartitions,
    'backlog' | 'commitProblem' | 'lost' | 'waitingPartitions'
  >;
  readonly health = new TopicHealth();
  /** How often state was found to have lost records that Kafka had acknowledged, by topic. */
  readonly stateLosses: ReadonlyMap<string, number>;
  private readonly drain: CallDrain;
  private readonly states: ReadonlyMap<string, KeyedStateTopic>;
  private isWidening = false;
  private closing: Promise<void> | undefined;

  constructor(
    private readonly options: KafkaConsumerOptions,
    handle: MessageHandler,
  ) {
    const { kafka, groupId, decode } = options;
    const supervised = new SupervisedConsumer(kafka, groupId, this.callbacks());
    this.supervised = supervised;
    const transactions = {
      ...{ kafka, groupId, health: this.health },
      committedOffsets: new CommittedOffsets(kafka, groupId),
      interval: new CommitInterval(options.commitIntervalMs),
      mayFence: () => supervised.holdsSession,
    };
    this.partitions = new AssignedPartitions({
      tracing: options.tracing,
      topicPrefix: options.topicPrefix,
      handle: decode === undefined ? handle : decodeFirst(decode, handle),
      giveUp: options.giveUp,
      member: supervised,
      beginTransactions: (topic, partition, progress, listener) =>
        new PartitionTransactions(topic, partition, progress, transactions, listener),
    });
    this.inputs = this.partitions;
    this.drain = new CallDrain(options.calls, this.partitions, options.finishDeadlineMs);
    this.states = new Map(options.stateTopics.map((state) => [state.name, state]));
    const { losses } = stateLogsOf(kafka);
    // A counter that first appears with the first loss shows no increase.
    for (const name of this.states.keys()) losses.set(name, losses.get(name) ?? 0);
    this.stateLosses = losses;
    for (const state of options.stateTopics) state.attachConsumer(supervised, this.partitions);
  }

  /** Resolves once the consumer is supervised; joining goes on. `names` are those of the inputs, without the prefix. */
  async start(names: readonly string[]): Promise<void> {
    const { supervised: consumer, options, partitions, stopping } = this;
    const inputs = names.map((name) => `${options.topicPrefix}${name}`);
    // A counter that first appears with the first lost message shows no increase.
    for (const input of inputs) partitions.lost.set(input, 0);
    await options.prepare(stopping.signal, (problem) => {
      this.startProblem = problem;
    });
    this.startProblem = undefined;
    if (stopping.signal.aborted) return;
    options.calls.allowWhile(() => consumer.holdsSession);
    consumer.start(inputs, [...this.states.keys()]);
  }

  get state(): ConsumerState {
    return this.stopping.signal.aborted ? 'stopped' : this.supervised.state;
  }

  get endedBecause(): string | undefined {
    return this.supervised.endedBecause;
  }

  /** Why nothing is consumed, for `/health/ready`; undefined unless the consumer is broken. */
  get outage(): string | undefined {
    if (this.state !== 'broken') return undefined;
    return `nothing is consumed, trying again: ${this.endedBecause}`;
  }

  /** Topics and partitions that cannot be read, for `/health/ready`; undefined when all can. Their messages wait. */
  get readProblem(): string | undefined {
    const whys = [this.supervised.unreadable.readProblem, this.partitions.hangingTransactions];
    return whys.filter(Boolean).join('; ') || undefined;
  }

  /** Why state cannot be restored or written, for `/health/ready`; undefined while it can. */
  get stateProblem(): string | undefined {
    return [...this.states.values()].map(({ stateProblem }) => stateProblem).find(Boolean);
  }

  /** Returns the backlog after asking Kafka for the ends of paused partitions, which no fetch reports. */
  async measureBacklog(): Promise<PartitionBacklog[]> {
    await withDeadline(this.readPausedEnds(), PAUSED_ENDS_DEADLINE_MS);
    return this.partitions.backlog();
  }

  /** Stops fetching, lets calls under way finish, commits, leaves the group; once, however often it is called. */
  closeConsumer(): Promise<void> {
    this.closing ??= this.shutDown();
    return this.closing;
  }

  private async shutDown(): Promise<void> {
    this.stopping.abort(new Error('the bridge is stopping'));
    await this.drain.drainForStop();
    await this.partitions.endTransactions();
    const closed = [...this.states.values()].map((state) => state.closeState());
    await withDeadline(Promise.all(closed), STATE_DEADLINE_MS);
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
    const { signal } = this.stopping;
    return {
      onBatch: (batch) => {
        if (signal.aborted) return;
        const state = this.states.get(batch.topic);
        if (state === undefined) this.bufferBatch(batch);
        else state.acceptFetched(batch.partition, batch.messages);
      },
      onEnds: (topic, ends) =>
        this.partitions.endsFetched(topic, ends, this.supervised.holdsSession),
      onAssigned: (assignment) => this.reassign(assignment),
      onRevoking: (deadlineMs) => this.drain.drainCalls(deadlineMs),
      onMembershipConfirmed: () => this.options.calls.recheckCondition(),
    };
  }

  private bufferBatch(batch: Batch): void {
    const { topic, partition } = batch;
    // Without a first offset, the whole fetch lies before the requested offset.
    const first = Number(batch.firstOffset() ?? batch.lastOffset());
    const end = Number(batch.lastOffset()) + 1;
    if (this.partitions.bufferFetched({ topic, partition, first, end }, fetchedRecords(batch)))
      this.supervised.pause(topic, partition);
  }

  /** Drops revoked partitions before it returns, and opens the new ones. */
  private reassign(assignment: PartitionAssignment): void {
    const { partitions } = this;
    const states = [...this.states.values()];
    if (this.stopping.signal.aborted) {
      // A revoked partition has another owner, whose commits this process must not set back with its last one.
      partitions.revokeAllBut(assignment);
      return;
    }
    if (this.lacksPartitions(assignment)) this.widenTopics();
    const inputs = new Map([...assignment].filter(([topic]) => !this.states.has(topic)));
    partitions.assignPartitions(inputs, (topic, partition) =>
      states.some((state) => state.isAwaited(topic, partition)),
    );
    // After the inputs: as it begins, a keyed state asks them for the fence that it waits for.
    for (const state of states) state.assignPartitions(assignment.get(state.name) ?? []);
    this.drain.resumeCalls();
  }

  /** Whether an input partition lacks the state partition of its number: it is absent, or not known to all brokers. */
  private lacksPartitions(assignment: PartitionAssignment): boolean {
    const { absent } = this.supervised.unreadable;
    return (this.options.widened ?? []).some(({ name, asWideAs = [] }) => {
      const own = new Set(assignment.get(name));
      const needed = asWideAs.flatMap((topic) => assignment.get(topic) ?? []);
      return !absent.has(name) && needed.some((partition) => !own.has(partition));
    });
  }

  /** Adds partitions to internal topics whose input has been widened. kafkajs joins again when it notices them. */
  private widenTopics(): void {
    if (this.isWidening) return;
    this.isWidening = true;
    this.logger.warn({ msg: 'messages wait: state has fewer partitions than its input' });
    this.options
      .prepare(this.stopping.signal, () => undefined)
      .catch((error: unknown) => {
        this.logger.error({ msg: 'state not widened', error: describeKafkaFailure(error) });
      })
      .finally(() => {
        this.isWidening = false;
      });
  }
}

/** Drains the calls for messages before partitions are revoked and before a stop. */
export class CallDrain {
  private readonly logger = new Logger('Consumer');
  /** Identity of the current drain; undefined once calls are resumed. */
  private draining: object | undefined;

  constructor(
    private readonly calls: CallSlots,
    private readonly partitions: Pick<
      AssignedPartitions,
      'pauseAll' | 'resumeAll' | 'commitPending' | 'closeBuffers'
    >,
    private readonly finishDeadlineMs = FINISH_DEADLINE_MS,
  ) {}

  /**
   * Keeps calls from beginning and messages from being handed over; resolves once no call is in flight and all
   * results are committed. At the deadline it cuts calls off: the new owner would make the same calls meanwhile.
   */
  async drainCalls(deadlineMs: number, commitDeadlineMs = COMMIT_DEADLINE_MS): Promise<void> {
    const drain = {};
    this.draining = drain;
    const { calls } = this;
    calls.pauseCalls();
    this.partitions.pauseAll();
    const commit = (): void => void this.partitions.commitPending();
    if (calls.underWay > 0) commit();
    const stopCommits = everyRealMs(COMMIT_EVERY_MS, commit);
    const isIdle = await withDeadline(calls.whenNoCalls(), deadlineMs).finally(stopCommits);
    if (!isIdle && this.draining === drain) await this.cutOff();
    // The last answers finish their messages in this turn of the event loop.
    await new Promise(setImmediate);
    await withDeadline(this.partitions.commitPending(), commitDeadlineMs);
  }

  resumeCalls(): void {
    this.draining = undefined;
    this.partitions.resumeAll();
    this.calls.resumeCalls();
  }

  /** Drains as for a revocation, then drops waiting messages: other machines of theirs may have been in a call. */
  async drainForStop(): Promise<void> {
    await this.drainCalls(this.finishDeadlineMs, STOP_COMMIT_DEADLINE_MS);
    const closed = this.partitions.closeBuffers();
    this.resumeCalls();
    // Entries for a topic that takes no records are dropped with their transaction.
    await withDeadline(closed, CUT_OFF_DEADLINE_MS);
  }

  /** Aborts the calls under way. Their results are unknown: the next owner makes them again. */
  private async cutOff(): Promise<void> {
    const { calls } = this;
    this.logger.warn({ msg: 'calls cut off: partitions may be lost', calls: calls.underWay });
    calls.cutOffCalls(new Error('the partition may go to another process'));
    await withDeadline(calls.whenNoCalls(), CUT_OFF_DEADLINE_MS);
  }
}

/** Nest's transport for Kafka: controllers name topics without the prefix, and receive messages in chunks. */
export class KafkaConsumerStrategy extends Server implements CustomTransportStrategy {
  protected override readonly logger = new Logger('Consumer');
  readonly consumer: KafkaConsumer;

  constructor(options: KafkaConsumerOptions) {
    super();
    this.consumer = new KafkaConsumer(options, this.dispatch);
  }

  /** Calls back once the consumer is supervised; joining the group goes on afterwards. */
  listen(callback: (error?: unknown) => void): void {
    void this.consumer.start([...this.messageHandlers.keys()]).then(() => callback(), callback);
  }

  close(): Promise<void> {
    return this.consumer.closeConsumer();
  }

  override on(): never {
    throw new Error('KafkaConsumerStrategy has no events: ask its consumer for its state');
  }

  override unwrap(): never {
    throw new Error('KafkaConsumerStrategy does not lend its consumer');
  }

  private readonly dispatch: MessageHandler = async (messages) => {
    const [first] = messages;
    const handler = this.messageHandlers.get(first?.topic ?? '');
    if (handler === undefined) throw new Error(`no controller handles ${first?.topic}`);
    const result = this.transformToObservable(await handler(messages));
    await lastValueFrom(result, { defaultValue: undefined });
  };
}
