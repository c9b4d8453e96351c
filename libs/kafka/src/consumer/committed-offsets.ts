import { realDelayMs } from '#libs/clock';
import { leaderNotAvailable, readStableOffsets } from '#libs/kafkajs-patches';
import type { Admin, KafkaClient, TopicPartition } from '../client/kafka-port.js';
import { withAdmin } from '../client/with-admin.js';
import { committedSpans, hasLeader } from '../reading/topics.js';
import { type OffsetMetadata, parseOffsetMetadata } from './offset-metadata.js';

/** Partitions are assigned by the dozen: so long, in real milliseconds, a request waits for the others to join it. */
const LINGER_MS = 10;
/** A transaction that has ended sets its offset a moment later. */
const UNSTABLE_POLL_MS = 50;

/** The progress that earlier owners have committed for a partition. */
export interface CommittedProgress extends OffsetMetadata {
  /** The offset of the first fetch. */
  begin: number;
  /** All below it is finished; 0 where nothing was committed, or the partition was recreated since. */
  floor: number;
}

interface Asked extends TopicPartition {
  resolve: (left: CommittedProgress | undefined) => void;
  reject: (error: unknown) => void;
}

type Found = CommittedProgress | 'leaderless' | 'unstable' | undefined;

/** Fetches committed offsets and their metadata, for many partitions in one request. */
export class CommittedOffsets {
  private asked: Asked[] = [];

  constructor(
    private readonly kafka: KafkaClient,
    private readonly groupId: string,
  ) {}

  /** Undefined where the partition is no more. @throws the broker's error, or that this partition has no leader */
  fetchProgress(topic: string, partition: number): Promise<CommittedProgress | undefined> {
    return new Promise((resolve, reject) => {
      this.asked.push({ topic, partition, resolve, reject });
      if (this.asked.length === 1) void realDelayMs(LINGER_MS).then(() => this.ask());
    });
  }

  private async ask(): Promise<void> {
    const asked = this.asked;
    this.asked = [];
    try {
      const left = await withAdmin(this.kafka, (admin) => this.readStable(admin, asked));
      asked.forEach(({ resolve, reject }, index) => {
        const progress = left[index];
        if (progress === 'leaderless') reject(leaderNotAvailable());
        else resolve(progress);
      });
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
  }

  private async readStable(
    admin: Admin,
    asked: readonly Asked[],
  ): Promise<Exclude<Found, 'unstable'>[]> {
    readStableOffsets(admin);
    for (;;) {
      const found = await this.read(admin, asked);
      const stable = found.filter((each) => each !== 'unstable');
      if (stable.length === found.length) return stable;
      await realDelayMs(UNSTABLE_POLL_MS);
    }
  }

  private async read(admin: Admin, partitions: readonly TopicPartition[]): Promise<Found[]> {
    const topics = new Set(partitions.map(({ topic }) => topic));
    const spans = await committedSpans(admin, this.groupId, [...topics]);
    return partitions.map(({ topic, partition }) => {
      const span = spans.find((it) => it.topic === topic && it.partition === partition);
      if (span !== undefined && !hasLeader(span)) return 'leaderless';
      if (span === undefined) return undefined;
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
