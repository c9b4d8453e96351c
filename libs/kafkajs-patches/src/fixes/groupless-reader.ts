import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

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

/** As much of kafkajs's coordinator of a group as a consumer asks that commits nothing by itself. */
interface Coordinator {
  isConnected(): boolean;
  offsetFetch(request: { topics: TopicPartitions[] }): Promise<object>;
  offsetCommit(request: object): Promise<void>;
}

interface OffsetManagerOptions {
  cluster: object;
  coordinator: Coordinator;
  memberAssignment: Readonly<Record<string, number[]>>;
  autoCommit: false;
  topicConfigurations: object;
  instrumentationEmitter: object;
  /** Empty: kafkajs shares what it knows of a group's offsets among all consumers of the group in a process. */
  groupId: '';
}

/** As much of kafkajs's part in a consumer group as decides which partitions it has, and from where it reads them. */
interface JoiningGroup {
  readonly assigners: readonly object[];
  readonly cluster: object;
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
const NOTHING_COMMITTED: Coordinator = {
  isConnected: () => true,
  offsetFetch: ({ topics }) =>
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
export function withGrouplessReaders<G extends JoiningGroupClass>(GroupOfKafkajs: G): G {
  const Base: JoiningGroupClass = GroupOfKafkajs;
  const OffsetManager = require('kafkajs/src/consumer/offsetManager/index.js') as new (
    options: OffsetManagerOptions,
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
        ...{ coordinator: NOTHING_COMMITTED, autoCommit: false, groupId: '' },
      });
      const { groupId } = this;
      instrumentationEmitter.emit(GROUP_JOIN, { groupId, memberId: '', memberAssignment });
    }
  } as unknown as G;
}
