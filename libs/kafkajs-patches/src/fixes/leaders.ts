import { createRequire } from 'node:module';
import { realEpochMs, withDeadline } from '#libs/clock';

const require = createRequire(import.meta.url);
const { createErrorFromCode } = require('kafkajs/src/protocol/error.js') as {
  createErrorFromCode: (code: number) => Error;
};

const UNKNOWN_TOPIC_OR_PARTITION = 3;
const LEADER_NOT_AVAILABLE = 5;
/** A broker's leader for a partition without one. */
const NO_LEADER = -1;
/** The offset returned for such a partition. */
const NO_OFFSET = '-1';
/** A partition is fetched soon after it has a leader again, not only when metadata expire. */
const ASK_AGAIN_MS = 1000;

interface PartitionMetadata {
  partitionId: number;
  leader: number;
}
interface TopicMetadata {
  topicErrorCode?: number;
  topic: string;
  partitionMetadata: readonly PartitionMetadata[];
}
interface Metadata {
  topicMetadata: readonly TopicMetadata[];
}

export interface MetadataResponse {
  parse: (answer: Metadata) => Promise<unknown>;
}

/** The broker's answer for a partition without a leader. */
export const leaderNotAvailable = (): Error => createErrorFromCode(LEADER_NOT_AVAILABLE);

export const isLeaderless = ({ leader }: Pick<PartitionMetadata, 'leader'>): boolean =>
  leader === NO_LEADER;

/**
 * Accepts metadata with leaderless partitions: kafkajs throws for one of them, and loses the others. If topics are
 * missing, the error has their names as `missingTopics`, even if it is about another topic.
 */
export function withLeaderless(response: MetadataResponse): MetadataResponse {
  const parse = async (answer: Metadata): Promise<Metadata> => {
    const topicMetadata = answer.topicMetadata.map((topic) => {
      const led = topic.partitionMetadata.filter((partition) => !isLeaderless(partition));
      return { ...topic, partitionMetadata: led };
    });
    try {
      await response.parse({ ...answer, topicMetadata });
    } catch (error) {
      const missing = topicMetadata.filter(isMissing).map(({ topic }) => topic);
      throw Object.assign(error as Error, { missingTopics: missing });
    }
    return answer;
  };
  return { ...response, parse };
}

const isMissing = ({ topicErrorCode }: TopicMetadata): boolean =>
  topicErrorCode === UNKNOWN_TOPIC_OR_PARTITION;

interface MetadataPool {
  metadata: Metadata | null;
  metadataExpireAt: number | null;
  getNodeIds(): readonly string[];
  refreshMetadata(topics: readonly string[]): Promise<unknown>;
  withBroker<T>(ask: (of: never) => Promise<T>): Promise<T | null>;
}

export type ExpiringPoolClass = new (options: never) => MetadataPool;

/** A consumer sends no heartbeat while it waits for an answer, and its session lasts eight seconds. */
const ANSWER_DUE_MS = 4000;

/**
 * Refreshes metadata soon while partitions have no leader. Asks another broker for a coordinator if one does not
 * answer; kafkajs waits for the time-out of a request, as this does for the last broker.
 */
export function withSoonLeaders(Base: ExpiringPoolClass): ExpiringPoolClass {
  return class BrokerPool extends Base {
    override async refreshMetadata(topics: readonly string[]): Promise<void> {
      await super.refreshMetadata(topics);
      const partitions = (this.metadata?.topicMetadata ?? []).flatMap((of) => of.partitionMetadata);
      if (partitions.some(isLeaderless)) {
        this.metadataExpireAt = Math.min(
          this.metadataExpireAt ?? Infinity,
          realEpochMs() + ASK_AGAIN_MS,
        );
      }
    }

    override withBroker<T>(ask: (of: never) => Promise<T>): Promise<T | null> {
      let others = this.getNodeIds().length;
      return super.withBroker(async (of) => {
        const answer = ask(of);
        others -= 1;
        if (others <= 0 || (await withDeadline(answer, ANSWER_DUE_MS))) return answer;
        throw new Error('another broker is asked');
      });
    }
  };
}

interface AskedOffsets {
  topic: string;
  partitions: readonly { partition: number }[];
}
interface TopicOffsets {
  topic: string;
  partitions: { partition: number; offset: string }[];
}

interface OffsetsCluster {
  getNodeIds(): readonly string[];
  findTopicPartitionMetadata(topic: string): readonly PartitionMetadata[];
  fetchTopicsOffset(topics: readonly AskedOffsets[]): Promise<TopicOffsets[]>;
}

export type OffsetsClusterClass = new (options: never) => OffsetsCluster;

const NO_ANSWER = ['KafkaJSConnectionError', 'KafkaJSRequestTimeoutError'];

/**
 * Returns -1 as the offset of a partition that has no leader, or whose leader does not answer while others may.
 * kafkajs waits for all leaders: with one of three brokers silent, no consumer stayed in its group, and no progress
 * of a partition was read. Until the late answer or the time-out of the request, that leader is not asked again.
 */
export function withOffsetsOfLed(Base: OffsetsClusterClass): OffsetsClusterClass {
  return class Cluster extends Base {
    private readonly silent = new Set<number>();

    override async fetchTopicsOffset(topics: readonly AskedOffsets[]): Promise<TopicOffsets[]> {
      // Determined once: metadata may be refreshed while the leaders are asked.
      const leaders = topics.map(({ topic }) => {
        const known = this.findTopicPartitionMetadata(topic);
        return new Map(known.map(({ partitionId, leader }) => [partitionId, leader]));
      });
      const ledBy = (leader: number): AskedOffsets[] =>
        topics.map((asked, at) => ({
          ...asked,
          partitions: asked.partitions.filter((of) => leaders[at]?.get(of.partition) === leader),
        }));
      const ids = new Set(leaders.flatMap((of) => [...of.values()]));
      const answers = await Promise.all([...ids].map((id) => this.askLeader(id, ledBy(id))));
      return topics.map(({ topic }, at) => ({
        topic,
        partitions: answers.flatMap((answer) => answer[at]?.partitions ?? []),
      }));
    }

    /** Returns the offsets in the order of the topics. */
    private async askLeader(leader: number, topics: AskedOffsets[]): Promise<TopicOffsets[]> {
      const unknown = topics.map(({ topic, partitions }) => ({
        topic,
        partitions: partitions.map(({ partition }) => ({ partition, offset: NO_OFFSET })),
      }));
      if (leader === NO_LEADER || this.silent.has(leader)) return unknown;
      const answer = super.fetchTopicsOffset(topics);
      // Without other brokers, nothing could go on sooner.
      const isOnly = this.getNodeIds().length === 1;
      if (!isOnly && !(await withDeadline(answer, ANSWER_DUE_MS))) {
        this.silent.add(leader);
        const mayBeAsked = (): unknown => this.silent.delete(leader);
        void answer.then(mayBeAsked, mayBeAsked);
        return unknown;
      }
      try {
        const found = await answer;
        return topics.map(
          ({ topic }) => found.find((of) => of.topic === topic) ?? { topic, partitions: [] },
        );
      } catch (error) {
        if (isOnly || !NO_ANSWER.includes((error as Error).name)) throw error;
        return unknown;
      }
    }
  };
}
