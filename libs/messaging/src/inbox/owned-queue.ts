import { type TopicPartitionOffset } from 'kafkajs';
import { type PartitionQueue } from './partition-queue.js';

export interface PartitionBacklog {
  topic: string;
  partition: number;
  /** Fetched and not yet final. */
  messages: number;
  /** In Kafka and not yet committed. */
  lag: number;
}

/** What is to be committed; `metadata` tells what has finished beyond the offset. */
export type OffsetCommit = TopicPartitionOffset & { metadata: string };

/** The queue of an owned partition, and what Kafka knows and tells of that partition. */
export class OwnedQueue {
  /** What was last handed out for a commit; undefined when that failed. */
  private committing: string | undefined;
  /** The offset whose commit Kafka last acknowledged. */
  private acknowledged = 0;
  /** The end of the partition when it was last read. */
  private highWatermark = 0;

  constructor(
    readonly topic: string,
    readonly partition: number,
    readonly queue: PartitionQueue,
  ) {}

  /** What to commit, and whether that has moved since it was last taken; undefined before anything was handed over. */
  takeCommit(): { commit: OffsetCommit; hasMoved: boolean } | undefined {
    const { topic, partition, queue } = this;
    const committable = queue.committable();
    // With nothing before it finished, the lowest is committed for what is told beside it.
    const offset = committable ?? queue.lowestUnfinished;
    if (offset === undefined) return undefined;
    const metadata = queue.finishedAhead;
    const place = `${offset} ${metadata}`;
    const hasFinished = committable !== undefined || metadata !== '';
    const hasMoved = hasFinished && place !== this.committing;
    if (hasMoved) this.committing = place;
    return { commit: { topic, partition, offset: String(offset), metadata }, hasMoved };
  }

  /** Says what became of what was taken: what was not committed is taken again. */
  settle(offset: string, committed: boolean): void {
    if (committed) this.acknowledged = Number(offset);
    else this.committing = undefined;
  }

  /** Redelivery never begins before what was committed: these are other messages under old offsets. */
  beginsAnewAt(offset: number): boolean {
    return offset < this.acknowledged;
  }

  /** The end of the partition as a fetch tells it, which may be lower than before. */
  fetchedUpTo(highWatermark: number): void {
    this.highWatermark = highWatermark;
  }

  /** The end of the partition as Kafka was asked for it, perhaps before the latest fetch. */
  noteEnd(highWatermark: number): void {
    this.highWatermark = Math.max(this.highWatermark, highWatermark);
  }

  get backlog(): PartitionBacklog {
    const { topic, partition, queue, highWatermark } = this;
    const { position, size: messages } = queue;
    const lag = position === undefined ? 0 : Math.max(0, highWatermark - position);
    return { topic, partition, messages, lag };
  }
}
