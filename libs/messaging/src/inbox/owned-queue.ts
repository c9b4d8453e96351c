import { realEpochMs } from '#libs/clock';
import { type TopicPartitionOffset } from '../kafkajs.js';
import { AT_REST, type ToldUntil } from './commit-note.js';
import { type PartitionQueue } from './partition-queue.js';
import { type TakenOver } from './taken-over.js';

export interface PartitionBacklog {
  topic: string;
  partition: number;
  /** Fetched and not yet final. */
  messages: number;
  /** In Kafka and not yet committed. */
  lag: number;
}

/** What is to be committed; `metadata` tells what has finished beyond the offset. */
export interface OffsetCommit extends TopicPartitionOffset {
  metadata: string;
  toldUntil: ToldUntil;
  /** To be called with what became of it: what was not committed is taken again. */
  settle: (committed: boolean) => void;
}

/**
 * The queue of an owned partition, and what Kafka knows and tells of that partition. Nothing is told of its
 * messages before a commit of this process says so: one from before may say that nothing is told.
 */
export class OwnedQueue {
  /** What was last handed out for a commit; undefined when that failed. */
  private committing: string | undefined;
  /** The offset whose commit Kafka last acknowledged. */
  private acknowledged = 0;
  /** No fetch begins below this while the topic is the one it was. */
  private floor = 0;
  /** What the last commit says of what is told, as far as that is certain; undefined before the first from here. */
  private noted: 'at rest' | 'telling' | undefined;
  private isAtRest = false;
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
    /** Called when something is to be told for which there has to be a commit. */
    onCommitWanted: () => void,
  ) {
    const { telling } = queue.ownership;
    void telling.close();
    telling.onAwaited = () => {
      if (!this.isAtRest) onCommitWanted();
    };
  }

  /**
   * What an earlier owner has left, for which the messages of a partition that has come here wait; undefined when
   * that is not known. What that owner may have told is to be known to the next one as well. Of no effect once the
   * partition is lost, though it may have come back: then that is asked for anew.
   */
  recall(left: Pick<TakenOver, 'finished' | 'toldUntilMs' | 'end'> | undefined): void {
    this.queue.progress.inherit(left?.finished);
    if (left?.toldUntilMs !== undefined) {
      this.toldSinceMs = left.toldUntilMs;
      this.inheritedEnd = left.end;
    }
    this.queue.release('recall');
  }

  /** Tells no more; resolves once what is being told has been, so that the next commit can say so. */
  async rest(): Promise<void> {
    this.isAtRest = true;
    await this.queue.ownership.telling.close();
  }

  /** Tells again, from the moment at which no commit says otherwise any more. */
  endRest(): void {
    this.isAtRest = false;
    this.tellIfNoted();
    this.queue.release('rest');
  }

  /**
   * What to commit, and whether that says something new; undefined before anything was handed over.
   *
   * @param toldUntilMs epoch milliseconds up to which all of what was told the records have been acknowledged
   */
  takeCommit(toldUntilMs: number): { commit: OffsetCommit; isNew: boolean } | undefined {
    const { topic, partition } = this;
    const { progress } = this.queue;
    const committable = progress.committable();
    // With nothing before it finished, the lowest is committed for what is told beside it.
    const offset = committable ?? progress.lowestUnfinished;
    if (offset === undefined) return undefined;
    const { metadata, isWhole } = progress.finishedAhead;
    const toldUntil = this.toldUntil(toldUntilMs, isWhole && offset >= this.inheritedEnd);
    const says = toldUntil === AT_REST ? 'at rest' : 'telling';
    const place = `${offset} ${metadata}`;
    const hasFinished = committable !== undefined || metadata !== '';
    const isNew = says !== this.noted || (hasFinished && place !== this.committing);
    if (hasFinished) this.committing = place;
    // From here on it may be in Kafka, whatever becomes of the request.
    if (says === 'at rest') this.noted = says;
    const settle = (committed: boolean): void => {
      if (!committed) {
        this.committing = undefined;
        this.noted = undefined;
        return;
      }
      this.acknowledged = offset;
      this.noted = says;
      this.tellIfNoted();
    };
    const commit = { topic, partition, offset: String(offset), metadata, toldUntil, settle };
    return { commit, isNew };
  }

  private toldUntil(nowMs: number, isAllIn: boolean): ToldUntil {
    const { telling } = this.queue.ownership;
    // Of a message with several outcomes some may have been told, and others wait for a dead letter.
    if (isAllIn) this.toldSinceMs = Math.min(nowMs, telling.underWaySinceMs ?? nowMs);
    return isAllIn && this.isAtRest && telling.isQuiet ? AT_REST : this.toldSinceMs;
  }

  private tellIfNoted(): void {
    if (!this.isAtRest && this.noted === 'telling') this.queue.ownership.telling.open();
  }

  /** The partition has stayed here: it is fetched from what was committed by now. */
  assignedAgain(): void {
    this.floor = this.acknowledged;
  }

  /**
   * Whether a fetch that begins there holds other messages under old offsets. It may begin below what is committed
   * by now: where it begins is settled before it is under way, and commits go on meanwhile.
   */
  isAnotherTopic(first: number, highWatermark: number): boolean {
    const { fetchedEnd } = this.queue.progress;
    return first < this.floor || (first < fetchedEnd && highWatermark < fetchedEnd);
  }

  /**
   * @param first the offset of the first message, undefined without any
   * @param highWatermark the end of the partition, which may be lower than before
   */
  fetched(first: number | undefined, highWatermark: number): void {
    if (first !== undefined && first >= this.acknowledged) this.floor = this.acknowledged;
    this.highWatermark = highWatermark;
  }

  /** The end of the partition as Kafka was asked for it, perhaps before the latest fetch. */
  noteEnd(highWatermark: number): void {
    this.highWatermark = Math.max(this.highWatermark, highWatermark);
  }

  get backlog(): PartitionBacklog {
    const { topic, partition, highWatermark } = this;
    const { position, size: messages } = this.queue.progress;
    const lag = position === undefined ? 0 : Math.max(0, highWatermark - position);
    return { topic, partition, messages, lag };
  }
}
