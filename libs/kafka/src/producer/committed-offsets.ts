import { realDelayMs, realNowMs } from '#libs/clock';
import { leaderNotAvailable, readStableOffsets } from '#libs/kafkajs-patches';
import type { Admin, KafkaClient, TopicPartition } from '../client/kafka-port.js';
import { withAdmin } from '../client/with-admin.js';
import { committedSpans, hasLeader } from '../reading/topics.js';
import { type OffsetMetadata, parseOffsetMetadata } from './offset-metadata.js';

/** Partitions are assigned by the dozen: wait (real milliseconds) for requests to join one another. */
const LINGER_MS = 10;
/** An ended transaction sets its offset a moment later. */
const UNSTABLE_POLL_MS = 50;
const UNSTABLE_DEADLINE_MS = 10_000;

/** Progress that earlier owners have committed for a partition. */
export interface CommittedProgress extends OffsetMetadata {
  /** Offset of the first fetch. */
  begin: number;
  /** All messages below it are finished; 0 if nothing is committed, or the partition was recreated since. */
  floor: number;
}

interface Asked extends TopicPartition {
  resolve: (earlierProgress: CommittedProgress | undefined) => void;
  reject: (error: unknown) => void;
}

const UNSTABLE =
  "a transaction that does not end is about to set the group's offset: end or abort it (kafka-transactions.sh)";

type Found = CommittedProgress | 'leaderless' | 'unstable' | undefined;

/** Fetches committed offsets and their metadata, for many partitions in one request. */
export class CommittedOffsets {
  private asked: Asked[] = [];

  constructor(
    private readonly kafka: KafkaClient,
    private readonly groupId: string,
  ) {}

  /**
   * Fetches the progress of a partition; undefined if it no longer exists.
   *
   * @throws the broker's error; for this partition alone, that it has no leader or its offset does not become stable
   */
  fetchProgress(topic: string, partition: number): Promise<CommittedProgress | undefined> {
    return new Promise((resolve, reject) => {
      this.asked.push({ topic, partition, resolve, reject });
      if (this.asked.length === 1) void realDelayMs(LINGER_MS).then(() => this.fetchAsked());
    });
  }

  private async fetchAsked(): Promise<void> {
    let waiting: readonly Asked[] = this.asked;
    this.asked = [];
    try {
      await withAdmin(this.kafka, async (admin) => {
        readStableOffsets(admin);
        const deadlineMs = realNowMs() + UNSTABLE_DEADLINE_MS;
        for (;;) {
          const found = await this.fetchSpans(admin, waiting);
          waiting = waiting.filter(({ resolve, reject }, index) => {
            const progress = found[index];
            if (progress === 'unstable') return true;
            if (progress === 'leaderless') reject(leaderNotAvailable());
            else resolve(progress);
            return false;
          });
          if (waiting.length === 0) return;
          if (realNowMs() > deadlineMs) throw new Error(UNSTABLE);
          await realDelayMs(UNSTABLE_POLL_MS);
        }
      });
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }

  private async fetchSpans(admin: Admin, partitions: readonly TopicPartition[]): Promise<Found[]> {
    const topics = new Set(partitions.map(({ topic }) => topic));
    const spans = await committedSpans(admin, this.groupId, [...topics]);
    return partitions.map(({ topic, partition }) => {
      const span = spans.find((it) => it.topic === topic && it.partition === partition);
      if (span === undefined) return undefined;
      if (!hasLeader(span)) return 'leaderless';
      if (span.committed === undefined) return 'unstable';
      const { committed, from, until } = span;
      const begin = Math.max(committed, from);
      const isOfLog = committed <= until;
      const floor = isOfLog ? Math.max(committed, 0) : 0;
      const metadata = parseOffsetMetadata(committed, span.metadata);
      const deferredUpTo = isOfLog ? metadata.deferredUpTo : undefined;
      return { ...metadata, deferredUpTo, begin, floor };
    });
  }
}
