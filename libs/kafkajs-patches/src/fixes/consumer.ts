import { createRequire } from 'node:module';
import { realDelayMs } from '#libs/clock';
import { isLeaderless, leaderNotAvailable } from './leaders.js';

const require = createRequire(import.meta.url);

interface FetchedData {
  messages: readonly TransactionalMessage[];
  abortedTransactions?: readonly AbortedTransaction[] | null;
}

/** What kafkajs's consumers are given: a partition's messages out of one fetch. */
interface FetchedBatch {
  isEmpty(): boolean;
  isEmptyDueToFiltering(): boolean;
  rawMessages: readonly TransactionalMessage[];
  messagesWithinOffset: readonly TransactionalMessage[];
  messages: readonly TransactionalMessage[];
}

export type BatchClass = new (
  ...fetched: [topic: string, fetchedOffset: string, data: FetchedData]
) => FetchedBatch;

/**
 * A record batch may hold four times as many, and each takes memory beside its bytes for as long as it waits. The next
 * fetch begins behind the last that was handed on, with the same batch: 100,000 empty messages, all rejected, grew the
 * process by 223 MB at once, and by 173 MB in portions.
 */
const MOST_MESSAGES = 25_000;

/**
 * Chooses what of a fetch is handed on, up to that number, without making objects of each message's offset: of the
 * messages, which come in the order of their offsets, those before the one that was asked for are left out, control
 * records, and what is in an aborted transaction. kafkajs takes the aborted ones for sorted by where they begin, which
 * they are not, and lets messages through where such transactions overlap.
 *
 * A fetch of which nothing is left is handed on like any other, as a batch without messages (to `eachBatch` alone):
 * kafkajs passes over it, and whoever counts on offsets has to learn of it by an event.
 */
export function committedBatch(BatchOfKafkajs: BatchClass): BatchClass {
  return class Batch extends BatchOfKafkajs {
    constructor(topic: string, fetchedOffset: string, data: FetchedData) {
      super(topic, fetchedOffset, { ...data, messages: [] });
      const from = Number(fetchedOffset);
      const first = data.messages.findIndex((message) => positionOf(message) >= from);
      const within = first < 0 ? [] : data.messages.slice(first, first + MOST_MESSAGES);
      const aborted = data.abortedTransactions ?? [];
      const committed = aborted.length === 0 ? within : committedMessages(within, aborted);
      this.rawMessages = data.messages;
      this.messagesWithinOffset = within;
      this.messages = committed.filter((message) => !message.isControlRecord);
    }

    override isEmptyDueToFiltering(): boolean {
      return false;
    }

    override isEmpty(): boolean {
      return this.rawMessages.length === 0;
    }
  };
}

/** As much of a fetched message as decides whether its transaction was committed. */
export interface TransactionalMessage {
  offset: string;
  /** {@link offset} as a number, where it was read in our way. */
  position?: number;
  key?: Buffer | string | null;
  isControlRecord?: boolean;
  /** Missing in the formats before Kafka 0.11, which know no transactions. */
  batchContext?: { producerId?: string; inTransaction?: boolean };
}

/** An aborted transaction in the answer to a fetch: from where on its producer's messages are part of it. */
export interface AbortedTransaction {
  producerId: string;
  firstOffset: string;
}

/** Types of control records that end a transaction, as Kafka has them: abort and commit. */
const ENDS: readonly number[] = [0, 1];
const TYPE_AT = 2;
const MARKER_KEY_BYTES = 4;

function positionOf({ position, offset }: TransactionalMessage): number {
  return position ?? Number(offset);
}

/**
 * What of a fetch is in no aborted transaction; the markers stay in. A transaction that was aborted begins with its
 * first offset and ends with its producer's next marker, and any number of them may be open at a time.
 *
 * @param messages in the order of their offsets
 * @param aborted in any order: Kafka lists them in that of their ends, and some may have begun before the fetch
 */
export function committedMessages<M extends TransactionalMessage>(
  messages: readonly M[],
  aborted: readonly AbortedTransaction[],
): M[] {
  const toBegin = aborted
    .map(({ producerId, firstOffset }) => ({ producerId, first: Number(firstOffset) }))
    .sort((a, b) => b.first - a.first);
  const aborting = new Set<string>();
  return messages.filter((message) => {
    const position = positionOf(message);
    for (let next = toBegin.at(-1); next && next.first <= position; next = toBegin.at(-1)) {
      aborting.add(next.producerId);
      toBegin.pop();
    }
    const { producerId = '', inTransaction = false } = message.batchContext ?? {};
    if (message.isControlRecord === true) {
      if (endsTransaction(message)) aborting.delete(producerId);
      return true;
    }
    return !(inTransaction && aborting.has(producerId));
  });
}

/** The key of a control record: version and type, 16 bits each. That of a message may be the same bytes. */
function endsTransaction({ key }: TransactionalMessage): boolean {
  // The end of a batch that compaction has emptied is shown as a control record without a key.
  if (!Buffer.isBuffer(key) || key.length < MARKER_KEY_BYTES) return false;
  return ENDS.includes(key.readInt16BE(TYPE_AT));
}

interface RecoveringGroup {
  readonly cluster: { refreshMetadata(): Promise<void> };
  recoverFromFetch(error: { type?: unknown }): Promise<void>;
}

export type RecoveringGroupClass = new (options: never) => RecoveringGroup;

const LEADER_HAS_MOVED: readonly unknown[] = ['LEADER_NOT_AVAILABLE', 'NOT_LEADER_FOR_PARTITION'];
const TOPIC_IS_GONE = 'UNKNOWN_TOPIC_OR_PARTITION';
/** Brokers learn of a new leader one after the other; each fetch before the last has fails again. */
const REFRESH_PAUSE_MS = 100;

/**
 * Asks who leads a partition by now, and goes on fetching. kafkajs joins the group anew instead, for which all calls
 * of this process have to come to rest and all members to give up what they have: a leader that moves takes nothing
 * from anybody.
 *
 * Ends the consumer where a topic is gone and that does not succeed. kafkajs fetches again all the same, from the offset
 * in the former log: of another one that is longer by then, it left the messages before that out.
 */
export function withLeaderMoves(Base: RecoveringGroupClass): RecoveringGroupClass {
  return class ConsumerGroup extends Base {
    override async recoverFromFetch(error: { type?: unknown }): Promise<void> {
      try {
        if (!LEADER_HAS_MOVED.includes(error.type)) {
          await super.recoverFromFetch(error);
          return;
        }
        await realDelayMs(REFRESH_PAUSE_MS);
        await this.cluster.refreshMetadata();
      } catch (cause) {
        const types = [error.type, (cause as { type?: unknown }).type];
        if (types.includes(TOPIC_IS_GONE)) Object.assign(cause as Error, { retriable: false });
        throw cause;
      }
    }
  };
}

interface TopicPartition {
  topic: string;
  partition: number;
}

interface OffsetManager {
  readonly cluster: {
    fetchTopicsOffset(
      topics: readonly { topic: string; partitions: readonly { partition: number }[] }[],
    ): Promise<{ partitions: { offset: string }[] }[]>;
  };
  readonly autoCommit: boolean;
  readonly topicConfigurations: Readonly<Record<string, { fromBeginning: boolean }>>;
  setDefaultOffset(of: TopicPartition): Promise<void>;
  seek(to: TopicPartition & { offset: string }): Promise<void>;
}

export type OffsetManagerClass = new (options: never) => OffsetManager;

/** Goes on at the first record left where the next is deleted. kafkajs commits -2 in place of what is committed. */
export function withoutDefaultCommits(Base: OffsetManagerClass): OffsetManagerClass {
  return class OffsetManager extends Base {
    override async setDefaultOffset({ topic, partition }: TopicPartition): Promise<void> {
      if (this.autoCommit) return super.setDefaultOffset({ topic, partition });
      const asked = { topic, partitions: [{ partition }], ...this.topicConfigurations[topic] };
      const [found] = await this.cluster.fetchTopicsOffset([asked]);
      const offset = found?.partitions[0]?.offset;
      if (offset !== undefined) await this.seek({ topic, partition, offset });
    }
  };
}

/** What shares the partitions of a group out, as kafkajs has it. */
interface Assigner {
  name: string;
  version: number;
  protocol: () => never;
  assign: () => Promise<never>;
}

interface TopicPartitions {
  topic: string;
  partitions: { partition: number }[];
}

/** As much of kafkajs's part in a consumer group as decides which partitions it has, and from where it reads them. */
interface JoiningGroup {
  readonly assigners: readonly object[];
  readonly cluster: {
    findTopicPartitionMetadata(topic: string): readonly { leader: number }[];
    refreshMetadataIfNecessary(): Promise<void>;
  };
  readonly groupId: string;
  readonly topicConfigurations: object;
  readonly instrumentationEmitter: { emit(event: string, payload: object): void };
  readonly subscriptionState: {
    assign(assignment: readonly { topic: string; partitions: number[] }[]): void;
  };
  topics: string[];
  partitionsPerSubscribedTopic: Map<string, number[]> | null;
  offsetManager: object | null;
  generatePartitionsPerSubscribedTopic(): Map<string, number[]>;
  joinAndSync(): Promise<void>;
  fetch(nodeId: string): Promise<unknown>;
}

export type JoiningGroupClass = new (options: never) => JoiningGroup;

const NO_GROUP: Assigner = {
  name: 'no-group',
  version: 0,
  protocol: () => {
    throw new Error('a reader without a group does not join');
  },
  assign: () => Promise.reject(new Error('a reader without a group assigns nothing to others')),
};

/**
 * For `partitionAssigners` of a consumer: it reads all partitions of its topics, and no group knows of it. It begins
 * where `fromBeginning` says, or a `seek` in its GROUP_JOIN, which comes again when a topic has more partitions.
 */
export const withoutGroup = (): Assigner => NO_GROUP;

/** Answers as the coordinator of a group that has committed nothing. */
const NOTHING_COMMITTED = {
  isConnected: () => true,
  offsetFetch: ({ topics }: { topics: TopicPartitions[] }) =>
    Promise.resolve({
      responses: topics.map(({ topic, partitions }) => ({
        topic,
        partitions: partitions.map(({ partition }) => ({ partition, offset: '-1' })),
      })),
    }),
  offsetCommit: () => Promise.resolve(),
};

/**
 * Lets a consumer with the assigner {@link withoutGroup} take all partitions of its topics without asking a
 * coordinator. kafkajs can only read as a member of a group: it has to wait for others to join (three seconds on a
 * broker with its default `group.initial.rebalance.delay.ms`), needs the right to the group, and leaves it behind.
 *
 * Without a member id, kafkajs sends neither heartbeats nor the leave of a group.
 */
export function withGrouplessReaders(Base: JoiningGroupClass): JoiningGroupClass {
  const OffsetManager = require('kafkajs/src/consumer/offsetManager/index.js') as new (
    options: object,
  ) => object;
  const { GROUP_JOIN } = (
    require('kafkajs/src/consumer/instrumentationEvents.js') as { events: { GROUP_JOIN: string } }
  ).events;

  return class ConsumerGroup extends Base {
    override async joinAndSync(): Promise<void> {
      if (!this.assigners.includes(NO_GROUP)) {
        await super.joinAndSync();
        return;
      }
      const partitionsByTopic = this.generatePartitionsPerSubscribedTopic();
      this.partitionsPerSubscribedTopic = partitionsByTopic;
      this.topics = [...partitionsByTopic.keys()];
      this.subscriptionState.assign(
        [...partitionsByTopic].map(([topic, partitions]) => ({ topic, partitions })),
      );
      const memberAssignment = Object.fromEntries(partitionsByTopic);
      const { cluster, topicConfigurations, instrumentationEmitter } = this;
      this.offsetManager = new OffsetManager({
        ...{ cluster, topicConfigurations, instrumentationEmitter, memberAssignment },
        ...{ coordinator: NOTHING_COMMITTED, autoCommit: false },
        // Empty: kafkajs shares what it knows of a group's offsets among all consumers of the group in a process.
        groupId: '',
      });
      const { groupId } = this;
      instrumentationEmitter.emit(GROUP_JOIN, { groupId, memberId: '', memberAssignment });
    }

    /** Whoever reads topics as a whole must not take what is left of them for all. */
    override async fetch(nodeId: string): Promise<unknown> {
      if (this.assigners.includes(NO_GROUP) && this.isPartial()) {
        await this.cluster.refreshMetadataIfNecessary();
        if (this.isPartial()) throw leaderNotAvailable();
      }
      return super.fetch(nodeId);
    }

    private isPartial(): boolean {
      const { cluster, topics } = this;
      return topics.some((topic) => cluster.findTopicPartitionMetadata(topic).some(isLeaderless));
    }
  };
}
