import { createRequire } from 'node:module';
import { realEpochMs } from '#libs/clock';

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
  refreshMetadata(topics: readonly string[]): Promise<unknown>;
}

export type ExpiringPoolClass = new (options: never) => MetadataPool;

/** Refreshes metadata soon while partitions have no leader. */
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
  findTopicPartitionMetadata(topic: string): readonly PartitionMetadata[];
  fetchTopicsOffset(topics: readonly AskedOffsets[]): Promise<TopicOffsets[]>;
}

export type OffsetsClusterClass = new (options: never) => OffsetsCluster;

/** Returns -1 as the offset of a leaderless partition. kafkajs fails to ask its leader, and asks no other. */
export function withOffsetsOfLed(Base: OffsetsClusterClass): OffsetsClusterClass {
  return class Cluster extends Base {
    override async fetchTopicsOffset(topics: readonly AskedOffsets[]): Promise<TopicOffsets[]> {
      // Determined once: metadata may be refreshed while the leaders are asked.
      const without = topics.map(({ topic, partitions }) => {
        const known = this.findTopicPartitionMetadata(topic).filter(isLeaderless);
        const leaderless = new Set(known.map(({ partitionId }) => partitionId));
        return partitions.filter(({ partition }) => leaderless.has(partition));
      });
      if (without.flat().length === 0) return super.fetchTopicsOffset(topics);
      const led = topics.map((asked, at) => ({
        ...asked,
        partitions: asked.partitions.filter((each) => without[at]?.includes(each) === false),
      }));
      const found = await super.fetchTopicsOffset(led);
      return topics.map(({ topic }, at) => ({
        topic,
        partitions: [
          ...(found.find((of) => of.topic === topic)?.partitions ?? []),
          ...(without[at] ?? []).map(({ partition }) => ({ partition, offset: NO_OFFSET })),
        ],
      }));
    }
  };
}
