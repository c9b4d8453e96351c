import { Logger } from '@nestjs/common';
import { realDelayMs, realNowMs, withDeadline } from '#libs/clock';
import { type Cluster, isLeaderless, leaderNotAvailable } from '#libs/kafkajs-patches';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import type { FetchedEnds } from '../client/kafka-port.js';
import { brokerAnswerOf } from '../client/protocol-error.js';
import { partitionName } from '../reading/stored-record.js';

/** Part of kafkajs's requests for records that its types lack. */
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
export type Fetch = (request: FetchRequest) => Promise<Fetched>;

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
      ...[...this.absent.values(), ...this.leaderless.values(), ...this.silent.problems],
    ];
    return whys.join('; ') || undefined;
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
      refused.get(topic) ?? refused.get(partitionName(topic, partition));
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
      for (const { partition } of partitions)
        this.refused.delete(partitionName(topicName, partition));
    }
  }

  private refuse({ topic, partition: { partition } }: Part, answer: string, error: unknown): void {
    const name = answer === NO_RIGHT ? topic : partitionName(topic, partition);
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

function ageMs(sinceMs: number): number {
  return realNowMs() - sinceMs;
}

/** A fetch takes 250 ms at most, unless the broker delays its answer. */
const FETCH_DUE_MS = 2000;
/** Longer than a quota delays an answer. */
const SILENT_AFTER_MS = 15_000;
/** A broker that has not been asked lately leads no assigned partition that is fetched. */
const ASKED_WITHIN_MS = 10_000;

/** The brokers that do not answer fetches. */
export class SilentBrokers {
  /** Since when (real milliseconds), by address. */
  private readonly silent = new Map<string, { sinceMs: number; askedMs: number }>();

  /** For `/health/ready`. */
  get problems(): string[] {
    const nowMs = realNowMs();
    return [...this.silent].flatMap(([broker, { sinceMs, askedMs }]) =>
      nowMs - sinceMs >= SILENT_AFTER_MS && nowMs - askedMs < ASKED_WITHIN_MS
        ? [`broker ${broker} does not answer, nothing is read of the partitions that it leads`]
        : [],
    );
  }

  /**
   * Returns an empty fetch if the broker delays its answer, as it does for ten seconds when a quota is exceeded.
   * kafkajs sends heartbeats only between fetches, and the session lasts eight seconds. The late answer serves the
   * next fetch of the same topics; a fetch of others drops it.
   */
  answeredInTime(broker: { readonly brokerAddress: string; fetch: Fetch }): Fetch {
    const fetch = broker.fetch.bind(broker);
    let late: { topics: FetchRequest['topics']; answer: Promise<Fetched> } | undefined;
    return async (request) => {
      const { topics } = request;
      const held = late;
      late = undefined;
      const isSame = held !== undefined && JSON.stringify(held.topics) === JSON.stringify(topics);
      const answer = isSame ? held.answer : fetch(request);
      if (await withDeadline(answer, FETCH_DUE_MS)) {
        const fetched = await answer;
        this.silent.delete(broker.brokerAddress);
        return fetched;
      }
      const nowMs = realNowMs();
      const known = this.silent.get(broker.brokerAddress);
      const isOld = known !== undefined && nowMs - known.askedMs >= ASKED_WITHIN_MS;
      const sinceMs = isOld ? nowMs : (known?.sinceMs ?? nowMs);
      this.silent.set(broker.brokerAddress, { sinceMs, askedMs: nowMs });
      late = { topics, answer };
      return { responses: [] };
    };
  }
}
