import { Logger } from '@nestjs/common';
import { realDelayMs, realNowMs } from '#libs/clock';
import {
  AssignerProtocol,
  type Cluster,
  isLeaderless,
  leaderNotAvailable,
  limitOffsetWait,
  type PartitionAssigner,
} from '#libs/kafkajs-patches';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import type { Consumer, FetchedEnds, KafkaClient } from '../client/kafka-port.js';
import { brokerAnswerOf } from '../client/protocol-error.js';
import {
  type Fetch,
  type Fetched,
  type FetchedTopic,
  type FetchRequest,
  SilentBrokers,
} from './silent-brokers.js';

/** After this time without a heartbeat, the coordinator and the member itself count it as dead. */
export const SESSION_TIMEOUT_MS = 8000;

/** Hooks before a member gives up its partitions, for which kafkajs has no events. */
interface MembershipHooks {
  /** Runs before each join, also the first; what it throws keeps the member from joining. */
  beforeJoin: () => void;
  /** Runs before the consumer leaves the group, which revokes its partitions. kafkajs also leaves after a crash. */
  beforeLeave: () => Promise<void>;
  /** Runs after a member has joined a generation of the group, before it asks for its assignment. */
  beforeSync: (generation: number) => void;
  /** Receives the ends of each fetched partition, also if the fetch holds nothing of it. */
  endsFetched: (topic: string, ends: FetchedEnds) => void;
  unreadable: UnreadableTopics;
}

/** Creates a member of the group that never restarts itself: {@link SupervisedConsumer} replaces it. */
export function createGroupConsumer(
  kafka: KafkaClient,
  groupId: string,
  hooks: MembershipHooks,
): Consumer {
  return kafka.consumer({
    groupId,
    partitionAssigners: [
      (given) => {
        // Only the assigner is given the cluster, and with it the group's coordinator.
        guardBrokers(given.cluster, hooks);
        // It sends no heartbeat meanwhile.
        limitOffsetWait(given.cluster);
        hooks.unreadable.cluster = given.cluster;
        return coPartitionedAssigner(hooks.beforeJoin)(given);
      },
    ],
    sessionTimeout: SESSION_TIMEOUT_MS,
    rebalanceTimeout: 15_000,
    // Members learn of a rebalance by heartbeat; partitions of a dead member wait longer by its interval.
    heartbeatInterval: 1000,
    maxWaitTimeInMs: 250,
    // A full partition may receive one more fetch.
    maxBytesPerPartition: 256 * 1024,
    // Notices partitions added to an input, and then to the state that goes with it.
    metadataMaxAge: 10_000,
    allowAutoTopicCreation: false,
    retry: {
      // Pace of joining while calls under way keep the member from it.
      initialRetryTime: 100,
      maxRetryTime: 500,
      retries: 30,
      restartOnFailure: () => Promise.resolve(false),
    },
  });
}

/** Part of kafkajs's broker that its types lack. The group's coordinator answers some of the requests. */
interface Broker {
  /** `host:port`. */
  readonly brokerAddress: string;
  leaveGroup(request: { groupId: string; memberId: string }): Promise<unknown>;
  syncGroup(request: { generationId: number }): Promise<unknown>;
  fetch: Fetch;
}
interface CoordinatedCluster {
  findBroker(request: { nodeId: string }): Promise<Broker>;
}

/** Calls the guard before the consumer leaves the group or asks for its assignment, and for each fetch. */
export function guardBrokers(cluster: Cluster, guard: Omit<MembershipHooks, 'beforeJoin'>): void {
  const coordinated = cluster as unknown as CoordinatedCluster;
  const guarded = new WeakSet<Broker>();
  const find = coordinated.findBroker.bind(cluster);
  coordinated.findBroker = async (request) => {
    const broker = await find(request);
    if (guarded.has(broker)) return broker;
    guarded.add(broker);
    const leaveGroup = broker.leaveGroup.bind(broker);
    const syncGroup = broker.syncGroup.bind(broker);
    broker.leaveGroup = async (leaving) => {
      await guard.beforeLeave();
      return leaveGroup(leaving);
    };
    broker.syncGroup = (request) => {
      guard.beforeSync(request.generationId);
      return syncGroup(request);
    };
    const fetch = guard.unreadable.silent.answeredInTime(broker);
    broker.fetch = async (request) => {
      const fetched = await guard.unreadable.fetchReadable(fetch, request);
      for (const { topicName, partitions } of fetched.responses) {
        for (const ends of partitions) guard.endsFetched(topicName, ends);
      }
      return fetched;
    };
    return broker;
  };
}

/** Real milliseconds until the consumer asks again for a topic that cannot be read. */
export const ASK_AGAIN_MS = 5000;

const NO_RIGHT = 'TOPIC_AUTHORIZATION_FAILED';
/** A broker's answers to a fetch if it cannot read one of the partitions: the log is damaged, or its disk fails. */
const UNREADABLE = ['CORRUPT_MESSAGE', 'KAFKA_STORAGE_ERROR', 'UNKNOWN'];

/**
 * The topics that cannot be read. They must not end the consumer, which also reads all others. Topics without the
 * right to Read, and partitions that their broker cannot read, are left out of fetches except once every five
 * seconds; absent topics are left out of the subscription.
 */
export class UnreadableTopics {
  private readonly logger = new Logger('Consumer');
  /** By topic, or by `topic/partition`. */
  private readonly refused = new Map<string, Refusal>();
  /** Why each absent topic cannot be subscribed: it does not exist, or may not be described. */
  absent: ReadonlyMap<string, string> = new Map();
  /** Cluster of the newest consumer, which knows the leaders of partitions. */
  cluster: Pick<Cluster, 'findTopicPartitionMetadata'> | undefined;
  private leaderless: ReadonlyMap<string, string> = new Map();
  readonly silent = new SilentBrokers();

  /** Why some topics are not read, for `/health/ready`. A refusal not renewed lately is of a revoked partition. */
  get readProblem(): string | undefined {
    const newest = [...this.refused.values()].filter(
      ({ askedMs }) => ageMs(askedMs) < 2 * ASK_AGAIN_MS,
    );
    const whys = [
      ...newest.map(({ why }) => why),
      ...this.absent.values(),
      ...this.leaderless.values(),
      ...this.silent.problems,
    ];
    return whys.length === 0 ? undefined : whys.join('; ');
  }

  leaveOut(absent: ReadonlyMap<string, string>): void {
    for (const [topic, error] of absent) {
      if (!this.absent.has(topic)) this.logger.error({ msg: 'topic not read', topic, error });
    }
    this.absent = absent;
  }

  /** Finds partitions without a leader in the topics: kafkajs fetches only the others. */
  checkLeaders(topics: readonly string[]): void {
    const leaderless = new Map<string, string>();
    for (const topic of topics) {
      if (this.cluster?.findTopicPartitionMetadata(topic).some(isLeaderless) !== true) continue;
      const error =
        this.leaderless.get(topic) ??
        describeKafkaFailure(leaderNotAvailable(), { right: 'Read', topics: [topic] });
      if (!this.leaderless.has(topic)) {
        this.logger.error({ msg: 'partitions without a leader', topic, error });
      }
      leaderless.set(topic, error);
    }
    this.leaderless = leaderless;
  }

  /** Fetches the readable partitions, then one unreadable topic or partition that is due: it would fail the others. */
  async fetchReadable(fetch: Fetch, request: FetchRequest): Promise<Fetched> {
    const { refused } = this;
    if (refused.size === 0) return this.fetchBisecting(fetch, request);
    const parts = partsOf(request.topics);
    const refusalOf = ({ topic, partition: { partition } }: Part): Refusal | undefined =>
      refused.get(topic) ?? refused.get(placeOf(topic, partition));
    const others = parts.filter((part) => refusalOf(part) === undefined);
    const due = parts.find((part) => ageMs(refusalOf(part)?.askedMs ?? Infinity) >= ASK_AGAIN_MS);
    const asked = [others];
    if (due !== undefined) {
      const refusal = refusalOf(due);
      asked.push(parts.filter((part) => refusalOf(part) === refusal));
      if (refusal !== undefined) {
        // A partition that another process has owned meanwhile is logged again.
        refusal.isLogged = ageMs(refusal.askedMs) < 2 * ASK_AGAIN_MS;
        // Set before the request, whose answer may be late.
        refusal.askedMs = realNowMs();
      }
    } else if (others.length === 0) await realDelayMs(request.maxWaitTime);
    return this.fetchEach(fetch, request, asked);
  }

  private async fetchEach(
    fetch: Fetch,
    request: FetchRequest,
    asked: readonly (readonly Part[])[],
  ): Promise<Fetched> {
    const responses = [];
    for (const parts of asked.filter(({ length }) => length > 0)) {
      const maxWaitTime = asked[0] === parts ? request.maxWaitTime : 0;
      const fetched = await this.fetchBisecting(fetch, {
        ...request,
        maxWaitTime,
        topics: topicsOf(parts),
      });
      responses.push(...fetched.responses);
    }
    return { responses };
  }

  private async fetchBisecting(fetch: Fetch, request: FetchRequest): Promise<Fetched> {
    const { topics } = request;
    try {
      const fetched = await fetch(request);
      if (this.refused.size > 0) this.clearRefusals(fetched);
      return fetched;
    } catch (error) {
      const answer = brokerAnswerOf(error) ?? '';
      if (answer !== NO_RIGHT && !UNREADABLE.includes(answer)) throw error;
      const each =
        answer === NO_RIGHT
          ? topics.map((topic) => partsOf([topic]))
          : partsOf(topics).map((part) => [part]);
      const [[first] = []] = each;
      if (first === undefined || each.length === 1) {
        if (first !== undefined) this.refuse(first, answer, error);
        return { responses: [] };
      }
      // The broker's answer does not name the partition at fault: bisect.
      const half = Math.ceil(each.length / 2);
      const halves = [each.slice(0, half).flat(), each.slice(half).flat()];
      return this.fetchEach(fetch, { ...request, maxWaitTime: 0 }, halves);
    }
  }

  /** Clears the refusals of the partitions in an answer; that to a delayed fetch is empty, and clears none. */
  private clearRefusals({ responses }: Fetched): void {
    for (const { topicName, partitions } of responses) {
      this.refused.delete(topicName);
      for (const { partition } of partitions) this.refused.delete(placeOf(topicName, partition));
    }
  }

  private refuse({ topic, partition: { partition } }: Part, answer: string, error: unknown): void {
    const name = answer === NO_RIGHT ? topic : placeOf(topic, partition);
    const why = describeKafkaFailure(error, { right: 'Read', topics: [name] });
    if (this.refused.get(name)?.isLogged !== true) {
      const place = answer === NO_RIGHT ? { topic } : { topic, partition };
      this.logger.error({ msg: 'topic not read', ...place, error: why });
    }
    this.refused.set(name, { askedMs: realNowMs(), why, isLogged: true });
  }
}

interface Refusal {
  /** Real milliseconds. */
  askedMs: number;
  why: string;
  isLogged: boolean;
}

interface Part {
  topic: string;
  partition: FetchedTopic['partitions'][number];
}

function partsOf(topics: readonly FetchedTopic[]): Part[] {
  return topics.flatMap(({ topic, partitions }) =>
    partitions.map((partition) => ({ topic, partition })),
  );
}

function topicsOf(parts: readonly Part[]): FetchedTopic[] {
  const names = new Set(parts.map(({ topic }) => topic));
  return [...names].map((topic) => {
    const its = parts.filter((part) => part.topic === topic);
    return { topic, partitions: its.map(({ partition }) => partition) };
  });
}

function placeOf(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}

function ageMs(sinceMs: number): number {
  return realNowMs() - sinceMs;
}

const { MemberAssignment, MemberMetadata } = AssignerProtocol;
/** First version of the consumer protocol: a later one would promise owned partitions to the broker's tools. */
const VERSION = 0;
const NAME = 'machine-bridge-co-partitioned';
const NO_USER_DATA = Buffer.alloc(0);

/**
 * Assigns partition p of every topic to the same one of its subscribers, so that one process has everything about a
 * machine: lists, reasons and states. Members of one group may run different flows: no member is assigned a topic
 * that it has not subscribed to.
 *
 * `beforeJoin` is called before each join of this member, which revokes its partitions: kafkajs has no other hook for
 * it. What it throws keeps the member from joining.
 */
export function coPartitionedAssigner(beforeJoin: () => void): PartitionAssigner {
  return ({ cluster }) => ({
    name: NAME,
    version: VERSION,

    protocol: ({ topics }) => {
      beforeJoin();
      return {
        name: NAME,
        metadata: MemberMetadata.encode({ version: VERSION, topics, userData: NO_USER_DATA }),
      };
    },

    async assign({ members }) {
      const subscribers = subscribersByTopic(members);
      const topics = [...subscribers.keys()];
      await (cluster as unknown as TopicAwareCluster).addMultipleTargetTopics(topics);
      const partitionsOf = (topic: string): number[] =>
        cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId);
      const shares = shareOut(subscribers, partitionsOf);
      return members.map(({ memberId }) => ({
        memberId,
        memberAssignment: MemberAssignment.encode({
          version: VERSION,
          assignment: shares.get(memberId) ?? {},
          userData: NO_USER_DATA,
        }),
      }));
    },
  });
}

function shareOut(
  subscribers: ReadonlyMap<string, readonly string[]>,
  partitionsOf: (topic: string) => readonly number[],
): Map<string, Record<string, number[]>> {
  const shares = new Map<string, Record<string, number[]>>();
  for (const [topic, memberIds] of subscribers) {
    for (const partition of partitionsOf(topic)) {
      const memberId = memberIds[partition % memberIds.length] ?? '';
      const share = shares.get(memberId) ?? {};
      shares.set(memberId, share);
      (share[topic] ??= []).push(partition);
    }
  }
  return shares;
}

/** Part of kafkajs's cluster that its types lack: loads metadata of topics to which only other members subscribe. */
interface TopicAwareCluster {
  addMultipleTargetTopics(topics: string[]): Promise<void>;
}

function subscribersByTopic(
  members: readonly { memberId: string; memberMetadata: Buffer }[],
): Map<string, string[]> {
  const subscribers = new Map<string, string[]>();
  for (const { memberId, memberMetadata } of members) {
    for (const topic of MemberMetadata.decode(memberMetadata)?.topics ?? []) {
      subscribers.set(topic, [...(subscribers.get(topic) ?? []), memberId].sort());
    }
  }
  return subscribers;
}
