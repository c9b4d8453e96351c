import { Logger } from '@nestjs/common';
import { realDelayMs, realNowMs, withDeadline } from '#libs/clock';
import {
  AssignerProtocol,
  type Cluster,
  isLeaderless,
  leaderNotAvailable,
  type PartitionAssigner,
} from '#libs/kafkajs-patches';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import type { Consumer, FetchedEnds, KafkaClient } from '../client/kafka-port.js';
import { brokerAnswerOf } from '../client/protocol-error.js';

/** A member without a heartbeat for this long is dead to the coordinator, and to itself. */
export const SESSION_TIMEOUT_MS = 8000;

/** The moments before a member gives up its partitions, for which kafkajs has no event. */
interface MembershipHooks {
  /** Before it joins, at first and in each rebalance; what it throws keeps it from joining. */
  beforeJoin: () => void;
  /** Before a consumer leaves the group, which gives its partitions up. A crashed one does so by itself. */
  beforeLeave: () => Promise<void>;
  /** Before a member that has joined a generation of the group asks for its assignment. */
  beforeSync: (generation: number) => void;
  /** Takes the ends of the partitions of each fetch, also of those of which it has nothing. */
  endsFetched: (topic: string, ends: FetchedEnds) => void;
  unreadable: UnreadableTopics;
}

/** A member of the group that never restarts by itself: {@link SupervisedConsumer} does that. */
export function createGroupConsumer(
  kafka: KafkaClient,
  groupId: string,
  hooks: MembershipHooks,
): Consumer {
  return kafka.consumer({
    groupId,
    partitionAssigners: [
      (given) => {
        // The only place where kafkajs gives access to the cluster, and with it to the group's coordinator.
        guardBrokers(given.cluster, hooks);
        hooks.unreadable.cluster = given.cluster;
        return coPartitionedAssigner(hooks.beforeJoin)(given);
      },
    ],
    sessionTimeout: SESSION_TIMEOUT_MS,
    rebalanceTimeout: 15_000,
    // Members learn of a rebalance from it: the partitions of a dead one wait for so much longer.
    heartbeatInterval: 1000,
    maxWaitTimeInMs: 250,
    // A full partition may get one more fetch.
    maxBytesPerPartition: 256 * 1024,
    // Notices an input that has more partitions, and then that its state has them too.
    metadataMaxAge: 10_000,
    allowAutoTopicCreation: false,
    retry: {
      // Joining is tried again at this pace while calls in flight keep it from its turn.
      initialRetryTime: 100,
      maxRetryTime: 500,
      retries: 30,
      restartOnFailure: () => Promise.resolve(false),
    },
  });
}

/** In kafkajs but not in its types: requests to a broker, some of them to the group's coordinator. */
interface Broker {
  leaveGroup(request: { groupId: string; memberId: string }): Promise<unknown>;
  syncGroup(request: { generationId: number }): Promise<unknown>;
  fetch(request: FetchRequest): Promise<Fetched>;
}
interface FetchRequest {
  maxWaitTime: number;
  topics: readonly FetchedTopic[];
}
interface FetchedTopic {
  topic: string;
  partitions: readonly { partition: number }[];
}
interface Fetched {
  responses: readonly { topicName: string; partitions: readonly FetchedEnds[] }[];
}
interface CoordinatedCluster {
  findBroker(request: { nodeId: string }): Promise<Broker>;
}

/** Calls the guard before a consumer leaves the group or takes an assignment, and for each fetch. */
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
    const fetch = answeredInTime(broker.fetch.bind(broker));
    broker.fetch = async (request) => {
      const fetched = await guard.unreadable.fetchOthers(fetch, request);
      for (const { topicName, partitions } of fetched.responses) {
        for (const ends of partitions) guard.endsFetched(topicName, ends);
      }
      return fetched;
    };
    return broker;
  };
}

type Fetch = Broker['fetch'];

/** A fetch takes 250 ms at most, unless the broker holds its answer back. */
const FETCH_DUE_MS = 2000;

/**
 * Answers that nothing was fetched where the broker holds its answer back: for ten seconds, where a quota is exceeded.
 * kafkajs sends heartbeats between fetches alone, and the session lasts no longer than {@link SESSION_TIMEOUT_MS}. What
 * comes late answers the next fetch of the same; of anything else, it is dropped.
 */
export function answeredInTime(fetch: Fetch): Fetch {
  let late: { topics: FetchRequest['topics']; answer: Promise<Fetched> } | undefined;
  return async (request) => {
    const { topics } = request;
    const held = late;
    late = undefined;
    const isSame = held !== undefined && JSON.stringify(held.topics) === JSON.stringify(topics);
    const answer = isSame ? held.answer : fetch(request);
    if (await withDeadline(answer, FETCH_DUE_MS)) return answer;
    late = { topics, answer };
    return { responses: [] };
  };
}

/** Real milliseconds until a topic that cannot be read is asked for again. */
export const ASK_AGAIN_MS = 5000;

const NO_RIGHT = 'TOPIC_AUTHORIZATION_FAILED';
/** A broker's answers for a fetch of which it cannot read one partition: its log is damaged, or on a disk that fails. */
const UNREADABLE = ['CORRUPT_MESSAGE', 'KAFKA_STORAGE_ERROR', 'UNKNOWN'];

/**
 * The topics that cannot be read, and must not end the consumer, and with it all others. Those that the bridge has no
 * right to read, and partitions that their broker cannot read, are left out of fetches, but for one every five seconds;
 * topics that are absent, out of the subscription.
 */
export class UnreadableTopics {
  private readonly logger = new Logger('Consumer');
  /** By topic, or by topic and partition. */
  private readonly refused = new Map<string, Refusal>();
  /** Topics that are not there, or may not be described, with why. */
  absent: ReadonlyMap<string, string> = new Map();
  /** The newest consumer's, which knows who leads the partitions. */
  cluster: Pick<Cluster, 'findTopicPartitionMetadata'> | undefined;
  private leaderless: ReadonlyMap<string, string> = new Map();

  /** Why some topics are not read, in words. Those that are not asked for any more are another process's. */
  get problem(): string | undefined {
    const newest = [...this.refused.values()].filter(
      ({ askedMs }) => ageMs(askedMs) < 2 * ASK_AGAIN_MS,
    );
    const whys = [
      ...newest.map(({ why }) => why),
      ...this.absent.values(),
      ...this.leaderless.values(),
    ];
    return whys.length === 0 ? undefined : whys.join('; ');
  }

  leaveOut(absent: ReadonlyMap<string, string>): void {
    for (const [topic, error] of absent) {
      if (!this.absent.has(topic)) this.logger.error({ msg: 'topic not read', topic, error });
    }
    this.absent = absent;
  }

  /** Notes which of the topics have partitions without a leader: kafkajs fetches the others. */
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

  /** What is known to be unreadable is asked for behind all others, one at a time: it would fail their fetch. */
  async fetchOthers(fetch: Fetch, request: FetchRequest): Promise<Fetched> {
    const { refused } = this;
    if (refused.size === 0) return this.fetchApart(fetch, request);
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
        // one that has been another process's meanwhile is logged again
        refusal.isLogged = ageMs(refusal.askedMs) < 2 * ASK_AGAIN_MS;
        // also where its answer takes longer than fetches are waited for
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
      const fetched = await this.fetchApart(fetch, {
        ...request,
        maxWaitTime,
        topics: topicsOf(parts),
      });
      responses.push(...fetched.responses);
    }
    return { responses };
  }

  private async fetchApart(fetch: Fetch, request: FetchRequest): Promise<Fetched> {
    const { topics } = request;
    try {
      const fetched = await fetch(request);
      if (this.refused.size > 0) this.accept(fetched);
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
      // the answer does not name the one at fault, which is found by halves
      const half = Math.ceil(each.length / 2);
      const halves = [each.slice(0, half).flat(), each.slice(half).flat()];
      return this.fetchEach(fetch, { ...request, maxWaitTime: 0 }, halves);
    }
  }

  /** An answer that the broker holds back names nothing, and says nothing. */
  private accept({ responses }: Fetched): void {
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
/** The consumer protocol's first version: a later one would promise owned partitions to the broker's tools. */
const VERSION = 0;
const NAME = 'machine-bridge-co-partitioned';
const NO_USER_DATA = Buffer.alloc(0);

/**
 * Assigns partition p of every topic to the same member among its subscribers, so that one process has all of a
 * machine: lists, reasons and states. Members of one group may run different flows: none is assigned a topic that it
 * has not subscribed to.
 *
 * `beforeJoin` is called each time before this member joins, which gives its partitions up: kafkajs has no other hook
 * for it. What it throws keeps the member from joining.
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

/** In kafkajs but not in its types: loads metadata of topics that only other members subscribe to. */
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
