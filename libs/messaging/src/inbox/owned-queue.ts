import { type TopicPartitionOffset } from 'kafkajs';
import { realEpochMs } from '#libs/clock';
import { type FinishedAhead } from '#libs/delivery';
import { AT_REST, type ToldUntil } from './commit-note.js';
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
export type OffsetCommit = TopicPartitionOffset & { metadata: string; toldUntil: ToldUntil };

/** What an earlier owner has left of a partition. */
export interface Inherited {
  finished: FinishedAhead | undefined;
  /** Epoch milliseconds; undefined when nothing was told that is not committed. */
  toldUntilMs: number | undefined;
  end: number;
}

/** What this process has told of messages by now. */
export interface Told {
  /** Epoch milliseconds up to which all of it has been acknowledged, and so is in the queues. */
  untilMs: number;
  /** Nothing is told for now. */
  isAtRest: boolean;
}

/** The queue of an owned partition, and what Kafka knows and tells of that partition. */
export class OwnedQueue {
  /** What was last handed out for a commit; undefined when that failed. */
  private committing: string | undefined;
  /** The offset whose commit Kafka last acknowledged. */
  private acknowledged = 0;
  /** The end of the partition when it was last read. */
  private highWatermark = 0;
  /** Epoch milliseconds since when something may have been told that no commit has in it. */
  private toldSinceMs = realEpochMs();
  /** Of offsets below this an earlier owner may have told something that is in no commit before all of them are finished. */
  private inheritedEnd = 0;

  constructor(
    readonly topic: string,
    readonly partition: number,
    readonly queue: PartitionQueue,
  ) {}

  /** What an earlier owner has told since then of offsets up to that end is to be known to the next one as well. */
  inherit(toldSinceMs: number, end: number): void {
    this.toldSinceMs = toldSinceMs;
    this.inheritedEnd = end;
  }

  /** What to commit, and whether that has moved since it was last taken; undefined before anything was handed over. */
  takeCommit(told: Told): { commit: OffsetCommit; hasMoved: boolean } | undefined {
    const { topic, partition, queue } = this;
    const committable = queue.committable();
    // With nothing before it finished, the lowest is committed for what is told beside it.
    const offset = committable ?? queue.lowestUnfinished;
    if (offset === undefined) return undefined;
    const { metadata, isWhole } = queue.finishedAhead;
    const isAllIn = isWhole && offset >= this.inheritedEnd;
    if (isAllIn) this.toldSinceMs = told.untilMs;
    const toldUntil: ToldUntil = isAllIn && told.isAtRest ? AT_REST : this.toldSinceMs;
    const place = `${offset} ${metadata}`;
    const hasFinished = committable !== undefined || metadata !== '';
    const hasMoved = hasFinished && place !== this.committing;
    if (hasMoved) this.committing = place;
    const commit = { topic, partition, offset: String(offset), metadata, toldUntil };
    return { commit, hasMoved };
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
